# Builds tensus.  `make help` lists the targets; README.md says what they make.
#
#   BUILD=dir       where to build                              (build)
#   CC= CXX=        gcc or clang
#   WERROR=1        warnings are errors                         (CI)
#   OPT=...         optimisation; without -DNDEBUG, asserts are live
#   SANITIZE=a,b    -fsanitize= of everything but vendored code
#   V=1             show the commands
#   CORE_DIRS=...   the floors to build, to compile or test a part alone:
#                   make build/spec/shape_test CORE_DIRS="ground value"
#
# Every .c file under src/FLOOR/ is found by wildcard: a new file needs no line
# here.  src/cpu/NAME_level.c is compiled once per machine level.

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:

VERSION := 0.1.0
BUILD ?= build
PREFIX ?= /usr/local
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif
# What is shipped never stops a host: asserts guard against our own mistakes and
# are for the sanitizers, and for CI's second compiler (OPT="-O2 -g").
OPT ?= -O2 -g $(if $(SANITIZE),,-DNDEBUG)

# `|` before a command hides it; V=1 shows it.
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' '$(1)' '$(2)')

# The targets that first see to what the machine lacks, and then call make
# again: by then the packages are there.  Nothing is fetched for `help`.
FRONT := help clean demo test check asan ubsan tsan bench
GOALS := $(or $(MAKECMDGOALS),all)
ifneq ($(filter-out $(FRONT),$(GOALS)),)
include vendor/lua/choice.mk
endif

.PHONY: all core demo test check bench cuda install clean help FORCE
all:

vendor/lua/choice.mk: vendor/fetch.sh vendor/versions.mk
	$(Q)CC=$(CC) vendor/fetch.sh

# ---- flags ----

# -Wconversion in C carries -Wsign-conversion in both compilers.  Vendored code
# is compiled without ours.  Of clang's, two go: -Wconversion brings one against
# the text in `assert(!"text")`, and -Wpass-failed is a word on speed (a loop
# that asked to become vectors and did not), which the bench judges.
IS_CLANG := $(findstring clang,$(shell $(CC) --version 2>/dev/null))
CLANGWARN := $(if $(IS_CLANG),-Wno-string-conversion -Wno-pass-failed)
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
        -Wconversion -Wvla -Wundef $(CLANGWARN) $(if $(WERROR),-Werror)
CXXWARN := -Wall -Wextra $(CLANGWARN) $(if $(WERROR),-Werror)
SANFLAGS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) \
              -fno-sanitize-recover=all -fno-omit-frame-pointer)

# No contraction: the bits of a sum must not depend on the compiler.  The other
# two let loops over sqrt and comparisons become vectors; they change no value.
MATH := -ffp-contract=off -fno-math-errno -fno-trapping-math
# Nothing unwinds through C; a debugger reads its own tables.
BASE := -std=c11 -D_DEFAULT_SOURCE -Isrc $(MATH) -fPIC -fvisibility=hidden \
        -fno-asynchronous-unwind-tables $(OPT) $(SANFLAGS) -MMD -MP
CXXBASE := -std=c++17 $(MATH) -fPIC -fvisibility=hidden $(OPT) $(SANFLAGS) \
           -MMD -MP
LIBS := -lz -lm -ldl -lpthread

level_base :=
level_avx2 := -mavx2 -mfma -mf16c
level_avx512 := -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mf16c \
                -mprefer-vector-width=512
ifneq ($(filter x86_64-%,$(shell $(CC) -dumpmachine)),)
LEVELS := base avx2 avx512
# For processors of before 2013: small rather than fast.
level_base := -O2 -fno-tree-vectorize
else
LEVELS := base
endif

# ---- Lua: the pinned source, or the system's (vendor/README.md) ----

MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
ifeq ($(LUA_KIND),system)
LUA_INCLUDE := $(or $(shell pkg-config --cflags lua5.4 2>/dev/null), \
                 -I/usr/include/lua5.4)
LUA_LINK := -Wl,--whole-archive -l:liblua5.4.a -Wl,--no-whole-archive
# The system's archive is not position-independent: the shared library takes
# the system's shared one, the static library leaves lua_* to the linker.
LUA_SHARED := -l:liblua5.4.so.0
LUA_MERGE :=
else
LUA_INCLUDE := -isystem vendor/lua/src
LUA_NAMES := lapi lcode lctype ldebug ldo ldump lfunc lgc llex lmem lobject \
             lopcodes lparser lstate lstring ltable ltm lundump lvm lzio \
             lauxlib lbaselib lcorolib ldblib liolib lmathlib loadlib loslib \
             lstrlib ltablib lutf8lib linit
LUA_OBJ := $(LUA_NAMES:%=$(BUILD)/lua/%.o)
LUA_LINK := $(LUA_OBJ)
LUA_SHARED := $(LUA_OBJ)
LUA_MERGE := $(LUA_OBJ)
endif

# As `make linux` of Lua's own makefile, without readline.
LUA_CFLAGS := -std=gnu99 $(OPT) -fPIC -DLUA_COMPAT_5_3 -DLUA_USE_POSIX \
              -DLUA_USE_DLOPEN -Wall -Wextra -MMD -MP

# Lua's own defaults plus the folders of Debian's packages (lfs, busted, ...).
root := /usr/local/share/lua/5.4/
lib := /usr/local/lib/lua/5.4/
multi := $(if $(MULTIARCH),/usr/lib/$(MULTIARCH)/lua/5.4/?.so;)
$(BUILD)/lua/loadlib.o: LUA_CFLAGS += \
  '-DLUA_PATH_DEFAULT="$(root)?.lua;$(root)?/init.lua;$(lib)?.lua;$(lib)?/init.lua;/usr/share/lua/5.4/?.lua;/usr/share/lua/5.4/?/init.lua;./?.lua;./?/init.lua"' \
  '-DLUA_CPATH_DEFAULT="$(lib)?.so;$(multi)/usr/lib/lua/5.4/?.so;$(lib)loadall.so;./?.so"'

$(BUILD)/lua/%.o: vendor/lua/src/%.c $(BUILD)/flags
	$(call say,LUA,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LUA_CFLAGS) -c $< -o $@

# A plain Lua to run our scripts with: a fresh machine has none.
$(BUILD)/lua-bootstrap: $(BUILD)/obj/vendor/bootstrap.o $(LUA_OBJ)
	$(call say,LINK,$@)
	$(Q)$(CC) $(SANFLAGS) $< $(LUA_LINK) -lm -ldl -Wl,-E -o $@

# ---- the core ----

CORE_DIRS ?= ground value rows device cpu tensor ops grad compound border
LEVEL_C := $(wildcard src/cpu/*_level.c)
CORE_C := $(filter-out $(LEVEL_C),$(wildcard $(CORE_DIRS:%=src/%/*.c)))
PROGRAM_C := $(wildcard src/host/main.c src/host/repl.c src/host/line.c \
               src/host/chunk.c)
HOST_C := $(filter-out $(PROGRAM_C),$(wildcard src/host/*.c))
LUA_FILES := $(shell find lua -name '*.lua' 2>/dev/null)

OBJ := $(BUILD)/obj
LEVEL_OBJ := $(if $(filter cpu,$(CORE_DIRS)), \
               $(foreach l,$(LEVELS),$(LEVEL_C:%.c=$(OBJ)/%.$(l).o)))
EMBED_OBJ := $(if $(filter border,$(CORE_DIRS)),$(BUILD)/gen/embedded.o)
CORE_OBJ := $(CORE_C:%.c=$(OBJ)/%.o) $(LEVEL_OBJ)
LIB_OBJ := $(CORE_OBJ) $(EMBED_OBJ) $(HOST_C:%.c=$(OBJ)/%.o)
PROGRAM_OBJ := $(PROGRAM_C:%.c=$(OBJ)/%.o)

core: $(CORE_OBJ) $(EMBED_OBJ)

# The text of every flag: when it changes, all is built again.  Taken here: the
# recipe would see what the target that asks first adds to BASE.
FLAGS := $(CC) $(CXX) $(BASE) $(WARN) $(LUA_KIND) $(LUA_RELEASE)
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(FLAGS)' >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# A list of objects as a file, so that an archive follows a deleted source.
$(BUILD)/core.list: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(LIB_OBJ) >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(OBJ)/src/cpu/%.o: OPT := $(patsubst -O2,-O3,$(OPT))
$(OBJ)/src/border/%.o $(OBJ)/src/host/%.o $(OBJ)/spec/%.o $(OBJ)/vendor/%.o: \
  BASE += $(LUA_INCLUDE)
$(OBJ)/src/border/%.o $(OBJ)/src/host/%.o: BASE += \
  '-DTENSUS_RELEASE="$(VERSION)"' '-DTENSUS_LUA_KIND="$(LUA_KIND)"'

$(OBJ)/%.o: %.c $(BUILD)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(WARN) -c $< -o $@

# Clang unrolls vector loops eightfold: 0.6 MB more for no speed that was seen.
# The products say themselves what is to be unrolled.
ROLLED := $(if $(IS_CLANG),-fno-unroll-loops)

define level_rule
$(OBJ)/src/cpu/%_level.$(1).o: src/cpu/%_level.c $(BUILD)/flags
	$$(call say,CC,$$< ($(1)))
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(BASE) $$(WARN) -O3 $$(if $$(findstring gemm,$$<),,$$(ROLLED)) \
	  -DLEVEL=$(1) $$(level_$(1)) -c $$< -o $$@
endef
$(foreach l,$(LEVELS),$(eval $(call level_rule,$(l))))

$(BUILD)/gen/embedded.c: scripts/embed.lua $(LUA_FILES) $(BUILD)/lua-bootstrap \
                         $(BUILD)/lua.list
	$(call say,EMBED,$@)
	@mkdir -p $(@D)
	$(Q)$(BUILD)/lua-bootstrap scripts/embed.lua $(LUA_FILES) >$@.new
	$(Q)mv $@.new $@

$(BUILD)/lua.list: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(LUA_FILES) >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(BUILD)/gen/embedded.o: $(BUILD)/gen/embedded.c
	$(Q)$(CC) $(BASE) $(WARN) -c $< -o $@

$(BUILD)/core.a: $(LIB_OBJ) $(BUILD)/core.list
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $(LIB_OBJ)

# ---- artefacts ----

ARTEFACTS := $(addprefix $(BUILD)/,tensus libtensus.a libtensus.so tensus.so \
               libtensus_lua.a)
all: $(ARTEFACTS)

# Exports lua_*, so that packaged C modules (lfs, lpeg) load into it.  Finds the
# CUDA plug-in beside itself, and in ../lib once it is installed.
$(BUILD)/tensus: $(PROGRAM_OBJ) $(LIB_OBJ) $(LUA_OBJ) $(BUILD)/core.list
	$(call say,LINK,$@)
	$(Q)$(CC) $(SANFLAGS) $(PROGRAM_OBJ) $(LIB_OBJ) $(LUA_LINK) $(LIBS) \
	  -Wl,-E '-Wl,-rpath,$$ORIGIN/../lib' -o $@

# A library shows these names and no other.
OWN_LUA := tensus_*
HOST_LUA := tensus_* luaopen_tensus

$(BUILD)/gen/%.map: Makefile
	@mkdir -p $(@D)
	@printf '{ global: $(foreach n,$(names),%s;) local: *; };\n' $(names:%='%') \
	  >$@
$(BUILD)/gen/own.map: names = $(OWN_LUA)
$(BUILD)/gen/host.map: names = $(HOST_LUA)

$(BUILD)/libtensus.so: $(LIB_OBJ) $(LUA_OBJ) $(BUILD)/gen/own.map \
                       $(BUILD)/core.list
	$(call say,LINK,$@)
	$(Q)$(CC) $(SANFLAGS) -shared $(LIB_OBJ) $(LUA_SHARED) $(LIBS) \
	  -Wl,--version-script=$(BUILD)/gen/own.map -Wl,-soname,libtensus.so.0 -o $@

$(BUILD)/tensus.so: $(LIB_OBJ) $(BUILD)/gen/host.map $(BUILD)/core.list
	$(call say,LINK,$@)
	$(Q)$(CC) $(SANFLAGS) -shared $(LIB_OBJ) $(LIBS) \
	  -Wl,--version-script=$(BUILD)/gen/host.map -o $@

# merge: one object of many, with all names local but $(1).
merge = $(LD) -r $(2) -o $@.o && \
  objcopy -w $(foreach n,$(1),--keep-global-symbol='$(n)') $@.o && \
  rm -f $@ && $(AR) rcs $@ $@.o && rm $@.o

$(BUILD)/libtensus.a: $(LIB_OBJ) $(LUA_OBJ) $(BUILD)/core.list
	$(call say,MERGE,$@)
	$(Q)$(call merge,$(OWN_LUA),$(LIB_OBJ) $(LUA_MERGE))

$(BUILD)/libtensus_lua.a: $(LIB_OBJ) $(BUILD)/core.list
	$(call say,MERGE,$@)
	$(Q)$(call merge,$(HOST_LUA),$(LIB_OBJ))

# ---- CUDA: the real plug-in, and the same files on the CPU ----

CU := $(wildcard cuda/*.cu)
FAKE_C := $(wildcard cuda/fake/*.c)
FAKE_CPP := $(wildcard cuda/fake/*.cpp)
NVCC ?= $(firstword $(wildcard $(CUDA_HOME)/bin/nvcc) \
          $(shell command -v nvcc 2>/dev/null) \
          $(wildcard /usr/local/cuda/bin/nvcc))
CUDA_LEVELS := 75 80 90
GENCODE := $(foreach l,$(CUDA_LEVELS),-gencode arch=compute_$(l),code=sm_$(l)) \
           -gencode arch=compute_90,code=compute_90
CUDA_INCLUDE := -Icuda -Isrc -I.

ifeq ($(CU),)
cuda:
	@echo "skipped: cuda (no .cu files)"
else ifeq ($(NVCC),)
cuda:
	@echo "skipped: cuda (no nvcc: not in PATH, CUDA_HOME, /usr/local/cuda)"
else
cuda: $(BUILD)/tensus_cuda.so
endif

$(BUILD)/cuda/%.o: cuda/%.cu Makefile
	$(call say,NVCC,$<)
	@mkdir -p $(@D)
	$(Q)$(NVCC) -std=c++17 -O3 -fmad=false $(GENCODE) $(CUDA_INCLUDE) \
	  -Xcompiler -fPIC,-fvisibility=hidden,-Wall -MMD -MP -c $< -o $@

$(BUILD)/tensus_cuda.so: $(CU:cuda/%.cu=$(BUILD)/cuda/%.o)
	$(call say,LINK,$@)
	$(Q)$(NVCC) -shared -cudart static $^ -o $@

FAKE_OBJ := $(CU:%.cu=$(BUILD)/fake/%.o) $(FAKE_C:%.c=$(BUILD)/fake/%.o) \
            $(FAKE_CPP:%.cpp=$(BUILD)/fake/%.o)
FAKE := $(if $(CU),$(BUILD)/tensus_fakecuda.so)

$(BUILD)/fake/%.o: %.cu $(BUILD)/flags
	$(call say,CXX,$<)
	@mkdir -p $(@D)
	$(Q)$(CXX) -x c++ $(CXXBASE) $(CXXWARN) $(CUDA_INCLUDE) -c $< -o $@

$(BUILD)/fake/%.o: %.cpp $(BUILD)/flags
	$(call say,CXX,$<)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(CXXBASE) $(CXXWARN) $(CUDA_INCLUDE) -c $< -o $@

$(BUILD)/fake/%.o: %.c $(BUILD)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(WARN) $(CUDA_INCLUDE) -c $< -o $@

$(BUILD)/tensus_fakecuda.so: $(FAKE_OBJ)
	$(call say,LINK,$@)
	$(Q)$(CXX) $(SANFLAGS) -shared $^ -lm -ldl -lpthread -o $@

.PHONY: fake
fake: $(FAKE)
	$(if $(FAKE),,@echo "skipped: fake device (no .cu files)")

# ---- tests ----

SPEC_C := $(wildcard spec/c/*_test.c)
SPEC_CPP := $(wildcard spec/c/*_test.cpp)
SPEC_BIN := $(SPEC_C:spec/c/%.c=$(BUILD)/spec/%) \
            $(SPEC_CPP:spec/c/%.cpp=$(BUILD)/spec/%)

$(BUILD)/spec/%_test: $(OBJ)/spec/c/%_test.o $(BUILD)/core.a $(LUA_OBJ)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) $< $(BUILD)/core.a $(LUA_LINK) $(LIBS) -Wl,-E -o $@

# In C++: what runs the CUDA files, which are linked in, on the fake device.
$(OBJ)/spec/%.o: spec/%.cpp $(BUILD)/flags
	$(call say,CXX,$<)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(CXXBASE) $(CXXWARN) $(CUDA_INCLUDE) -c $< -o $@

$(SPEC_CPP:spec/c/%.cpp=$(BUILD)/spec/%): $(BUILD)/spec/%: \
  $(OBJ)/spec/c/%.o $(FAKE_OBJ) $(BUILD)/core.a $(LUA_OBJ)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(SANFLAGS) $< $(FAKE_OBJ) $(BUILD)/core.a $(LUA_LINK) $(LIBS) \
	  -o $@

# ---- figures ----

BENCH := $(patsubst scripts/bench/%.c,$(BUILD)/bench/%,\
           $(wildcard scripts/bench/*.c))

$(BUILD)/bench/%: scripts/bench/%.c $(BUILD)/core.a $(LUA_OBJ)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(WARN) $< $(BUILD)/core.a $(LUA_LINK) $(LIBS) -o $@

.PHONY: run-test run-check run-demo run-bench
run-test run-check: all fake $(SPEC_BIN) $(BUILD)/lua-bootstrap
	@BUILD=$(BUILD) SANITIZE=$(SANITIZE) sh scripts/test.sh $(if $(filter %-check,$@),fast,full)

run-demo: $(BUILD)/tensus
	@$(BUILD)/tensus scripts/demo/fashion.lua

run-bench: all $(BENCH)
	@BUILD=$(BUILD) $(BUILD)/tensus scripts/bench/run.lua

# ---- the front: first what the machine lacks ----

JOBS := $(shell nproc 2>/dev/null || echo 2)
again = @$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(JOBS))

demo:
	@vendor/need.sh demo
	$(again) run-demo

test:
	@vendor/need.sh test
	$(again) run-test

check:
	@vendor/need.sh test
	$(again) run-check

bench:
	@vendor/need.sh build
	$(again) run-bench

asan:
	@vendor/need.sh test
	$(again) run-test BUILD=build/asan SANITIZE=address,undefined

ubsan:
	@vendor/need.sh test
	$(again) run-test BUILD=build/ubsan SANITIZE=undefined

tsan:
	@vendor/need.sh test
	$(again) run-test BUILD=build/tsan SANITIZE=thread

# ---- the rest ----

LIBDIR = $(DESTDIR)$(PREFIX)/lib
define PC
prefix=$(PREFIX)
libdir=$${prefix}/lib
includedir=$${prefix}/include

Name: tensus
Description: embeddable Lua 5.4 with native tensors
Version: $(VERSION)
Libs: -L$${libdir} -ltensus
Libs.private: $(LIBS)
Cflags: -I$${includedir}
endef
export PC

# `build/tensus_cuda.so` is installed when `make cuda` has made it.
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/include \
	  $(LIBDIR)/lua/5.4 $(LIBDIR)/pkgconfig
	install -s $(BUILD)/tensus $(DESTDIR)$(PREFIX)/bin/tensus
	install -m 644 src/tensus.h src/tensus_lua.h $(DESTDIR)$(PREFIX)/include
	install -m 644 $(BUILD)/libtensus.a $(BUILD)/libtensus_lua.a $(LIBDIR)
	install -s $(BUILD)/libtensus.so $(LIBDIR)/libtensus.so.0
	ln -sf libtensus.so.0 $(LIBDIR)/libtensus.so
	install -s $(BUILD)/tensus.so $(LIBDIR)/lua/5.4/tensus.so
	@if [ -e $(BUILD)/tensus_cuda.so ]; then \
	  install $(BUILD)/tensus_cuda.so $(LIBDIR); fi
	@printf '%s\n' "$$PC" >$(LIBDIR)/pkgconfig/tensus.pc

clean:
	rm -rf build

help:
	@echo "make [all]    the program and the libraries, in build/"
	@echo "make demo     install what is missing, build, train on real images"
	@echo "make test     install what is missing, build, run every test"
	@echo "make check    the fast tests only (under a minute)"
	@echo "make asan     all tests under AddressSanitizer and UBSan"
	@echo "make ubsan    ... under UBSan; make tsan: ThreadSanitizer"
	@echo "make bench    the figures, as a table and as JSON"
	@echo "make cuda     the CUDA plug-in, with nvcc"
	@echo "make core     the objects of every floor (with -k: as far as it goes)"
	@echo "make install  into PREFIX ($(PREFIX)), below DESTDIR"
	@echo "make clean    remove build/ (vendor/lua stays)"
	@echo "Variables: BUILD CC CXX OPT WERROR=1 SANITIZE= V=1 CORE_DIRS="

-include $(shell find $(addprefix $(BUILD)/,obj lua gen cuda fake) -name '*.d' \
           2>/dev/null)
