# Unit tests of openssh-bdp, in upstream's framework. Read after the tree's own
# Makefile, which stays as it is:
#
#	make -f Makefile -f regress/bdp-unit.mk bdp-unit
#
# BDP_SRC may point elsewhere, to run test_chanbuf on a tree without our code.

BDP_SRC=regress/unittests
BDP_HELPER=regress/unittests/test_helper/libtest_helper.a
BDP_LIBS=$(BDP_HELPER) -lssh -lopenbsd-compat -lssh -lopenbsd-compat $(TESTLIBS)

# What sshkey.c calls outside of libssh.a. P11OBJS is of 10.1 and later.
BDP_OBJS=$(P11OBJS) $(SKOBJS)

# test_chanbuf counts the bytes that these move
BDP_WRAP=-Wl,--wrap=memcpy -Wl,--wrap=memmove -Wl,--wrap=__memcpy_chk \
	-Wl,--wrap=__memmove_chk

# What the modules of windows ask the machine (modules/fake.c)
BDP_FAKE=monotime_double tcp_path_read tcp_unsent_bound tcp_unsent \
	getsockopt ioctl window_init window_decide \
	window_budget_ask sshbuf_len poly1305_evp_enable free \
	ssh_packet_not_very_much_data_to_write
BDP_FAKES=$(BDP_FAKE:%=-Wl,--wrap=%)

# test_poly1305 sees whether OpenSSL's is used
BDP_EVP=-Wl,--wrap=EVP_MAC_init

# Those that need no more than the core of the series
BDP_CORE=tests.c leaks.c test_window_control.c test_queue.c test_link.c \
	test_window_budget.c test_path_rtt.c test_ssh_rtt.c test_walk.c \
	walk.c fake.c conn.c fixture.c test_channel_window.c \
	test_channel_path.c test_tcp_path.c test_read_ahead.c
BDP_MODULES=$(BDP_CORE) test_channel_report.c test_channel_sender.c \
	test_send_account.c test_tcp_limit.c test_tcp_unsent.c \
	memory.c test_sshbuf_mem.c test_window_max.c test_wipes.c \
	test_sftp_inflight.c test_progress_rate.c test_poly1305.c \
	test_bdp_options.c test_no_room.c \
	test_sftp_incomplete.c test_copy_file.c test_copy_stream.c \
	test_session_end.c test_login.c
BDP_SFTP=sftp-common.o
BDP_CHANBUF=tests.c test_chanbuf.c ../modules/leaks.c

# tcp-path.c of a system without TCP_INFO, whose function fake.c calls
bdp-without.o: tcp-path.c tcp-path.h
	$(CC) $(CFLAGS) $(CPPFLAGS) -DWITHOUT_TCP_INFO \
	    -Dtcp_path_read=without_tcp_path_read -c -o $@ $<

bdp-test_modules: $(BDP_MODULES:%=$(BDP_SRC)/modules/%) $(BDP_HELPER) libssh.a $(BDP_SFTP) $(BDP_OBJS) bdp-without.o
	$(CC) $(CFLAGS) $(CPPFLAGS) -I. -I$(BDP_SRC)/modules -o $@ \
	    $(BDP_MODULES:%=$(BDP_SRC)/modules/%) $(BDP_SFTP) $(BDP_OBJS) \
	    bdp-without.o \
	    $(LDFLAGS) $(BDP_FAKES) $(BDP_EVP) $(BDP_LIBS) $(CHANLIBS) $(GSSLIBS)

bdp-core: $(BDP_CORE:%=$(BDP_SRC)/modules/%) $(BDP_HELPER) libssh.a $(BDP_OBJS) bdp-without.o
	$(CC) $(CFLAGS) $(CPPFLAGS) -DBDP_CORE -I. -I$(BDP_SRC)/modules -o $@ \
	    $(BDP_CORE:%=$(BDP_SRC)/modules/%) $(BDP_OBJS) bdp-without.o \
	    $(LDFLAGS) \
	    $(BDP_FAKES) $(BDP_LIBS) $(CHANLIBS)

bdp-test_chanbuf: $(BDP_CHANBUF:%=$(BDP_SRC)/chanbuf/%) $(BDP_HELPER) libssh.a $(BDP_OBJS)
	$(CC) $(CFLAGS) $(CPPFLAGS) -I. -I$(BDP_SRC)/chanbuf -o $@ \
	    $(BDP_CHANBUF:%=$(BDP_SRC)/chanbuf/%) $(BDP_OBJS) $(LDFLAGS) \
	    $(BDP_WRAP) $(BDP_LIBS) $(CHANLIBS)

bdp-modules: bdp-test_modules
	./bdp-test_modules

# Counts the bytes that memcpy(3) and the like move, which sanitizers replace
bdp-unit: bdp-modules bdp-test_chanbuf
	./bdp-test_chanbuf
