# Fuzzers of openssh-bdp, in the tree where it is built. Read after the tree's
# own Makefile, which stays as it is:
#
#	make -f Makefile -f regress/bdp-fuzz.mk FUZZ_FLAGS=-fsanitize=... bdp-fuzz
#
# With FUZZ_MAIN=$(FUZZ)/replay.c, and without libFuzzer, they run the inputs in
# the files of their command line.

include regress/bdp-unit.mk

FUZZ=regress/fuzz
FUZZ_MAIN=
FUZZ_FLAGS=-fsanitize=fuzzer,address,undefined
FUZZERS=bdp-fuzz_window bdp-fuzz_wire bdp-fuzz_server bdp-fuzz_client
FUZZ_LIBS=$(BDP_OBJS) $(LDFLAGS) -lssh -lopenbsd-compat -lssh \
	-lopenbsd-compat $(TESTLIBS) $(LIBS)
FUZZ_CC=$(CC) $(CFLAGS) $(FUZZ_FLAGS) $(CPPFLAGS) -I. -Wno-unused-result
FUZZ_COMMON=$(FUZZ)/bounds.c $(FUZZ)/input.c $(FUZZ_MAIN)
FUZZ_DEPS=$(FUZZ_COMMON) $(FUZZ)/bounds.h $(FUZZ)/input.h libssh.a \
	openbsd-compat/libopenbsd-compat.a $(BDP_OBJS)

# Functions whose callers get the fuzzer's instead; it calls __real_*().
fuzz_wrap=$(foreach f,$(1),-Wl,--wrap=$(f))
FUZZ_MEMORY=mmap mremap munmap
FUZZ_CLIENT=poll __poll_chk read write send writev pwrite open close mkdir \
	monotime_double tcgetpgrp socketpair fork
FUZZ_WALK=walk.c conn.c fake.c
FUZZ_CLIENT_OBJS=$(SFTP_CLIENT_OBJS) progressmeter.o

bdp-fuzz: $(FUZZERS)

bdp-fuzz_window: $(FUZZ)/fuzz_window.c $(FUZZ_DEPS) bdp-without.o
	$(FUZZ_CC) -o $@ $(FUZZ)/fuzz_window.c $(FUZZ_MAIN) \
	    $(FUZZ_WALK:%=regress/unittests/modules/%) bdp-without.o \
	    $(call fuzz_wrap,$(BDP_FAKE)) $(FUZZ_LIBS)

bdp-fuzz_wire: $(FUZZ)/fuzz_wire.c $(FUZZ_DEPS)
	$(FUZZ_CC) -o $@ $(FUZZ)/fuzz_wire.c $(FUZZ_COMMON) \
	    $(call fuzz_wrap,$(FUZZ_MEMORY)) $(FUZZ_LIBS)

bdp-fuzz_server: $(FUZZ)/fuzz_server.c sftp-server.c sftp-common.o $(FUZZ_DEPS)
	$(FUZZ_CC) -o $@ $(FUZZ)/fuzz_server.c $(FUZZ_COMMON) sftp-common.o \
	    $(call fuzz_wrap,$(FUZZ_MEMORY) poll write) $(FUZZ_LIBS)

bdp-fuzz_client: $(FUZZ)/fuzz_client.c $(FUZZ_CLIENT_OBJS) $(FUZZ_DEPS)
	$(FUZZ_CC) -o $@ $(FUZZ)/fuzz_client.c $(FUZZ_COMMON) \
	    $(FUZZ_CLIENT_OBJS) \
	    $(call fuzz_wrap,$(FUZZ_MEMORY) $(FUZZ_CLIENT)) $(FUZZ_LIBS)
