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

# What channel-window.c asks the machine (chanwin/fake.c)
BDP_FAKE=monotime_double tcp_path_probe tcp_path_fill_segments \
	tcp_path_bound_unsent tcp_path_waiting set_nodelay \
	window_init window_credit window_budget_ask sshbuf_len sshbuf_mem_resize poly1305_evp_start free
BDP_FAKES=$(BDP_FAKE:%=-Wl,--wrap=%)

# test_poly1305 sees whether OpenSSL's is used
BDP_EVP=-Wl,--wrap=EVP_MAC_init

# Those that need no more than the core of the series
BDP_CORE=tests.c test_window_control.c test_link.c test_window_budget.c \
	test_path_rtt.c test_ssh_rtt.c test_walk.c test_stall.c walk.c \
	fake.c conn.c fixture.c test_channelwindow.c memory.c \
	test_sshbufmem.c
BDP_CHANWIN=$(BDP_CORE) test_windowmax.c test_channelsend.c test_wipes.c \
	test_sftpdepth.c test_sftplimit.c test_progressrate.c \
	test_send_account.c test_cipherorder.c test_poly1305.c test_sftpresume.c \
	test_sftproom.c test_bdpoptions.c
BDP_SFTP=sftp-depth.o sftp-limit.o sftp-resume.o sftp-rest.o sftp-room.o \
	sftp-common.o
BDP_CHANBUF=tests.c test_chanbuf.c

bdp-test_chanwin: $(BDP_CHANWIN:%=$(BDP_SRC)/chanwin/%) $(BDP_HELPER) libssh.a $(BDP_SFTP) $(BDP_OBJS)
	$(CC) $(CFLAGS) $(CPPFLAGS) -I. -I$(BDP_SRC)/chanwin -o $@ \
	    $(BDP_CHANWIN:%=$(BDP_SRC)/chanwin/%) $(BDP_SFTP) $(BDP_OBJS) \
	    $(LDFLAGS) $(BDP_FAKES) $(BDP_EVP) $(BDP_LIBS) $(CHANLIBS)

bdp-core: $(BDP_CORE:%=$(BDP_SRC)/chanwin/%) $(BDP_HELPER) libssh.a $(BDP_OBJS)
	$(CC) $(CFLAGS) $(CPPFLAGS) -DBDP_CORE -I. -I$(BDP_SRC)/chanwin -o $@ \
	    $(BDP_CORE:%=$(BDP_SRC)/chanwin/%) $(BDP_OBJS) $(LDFLAGS) \
	    $(BDP_FAKES) $(BDP_LIBS) $(CHANLIBS)

bdp-test_chanbuf: $(BDP_CHANBUF:%=$(BDP_SRC)/chanbuf/%) $(BDP_HELPER) libssh.a $(BDP_OBJS)
	$(CC) $(CFLAGS) $(CPPFLAGS) -I. -I$(BDP_SRC)/chanbuf -o $@ \
	    $(BDP_CHANBUF:%=$(BDP_SRC)/chanbuf/%) $(BDP_OBJS) $(LDFLAGS) \
	    $(BDP_WRAP) $(BDP_LIBS) $(CHANLIBS)

bdp-unit: bdp-test_chanwin bdp-test_chanbuf
	./bdp-test_chanwin
	./bdp-test_chanbuf
