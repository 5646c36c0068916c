# liquid_tf: `make help` lists the targets.
#
# TF_VERSION chooses the TensorFlow. Every version has its own virtual
# environment and its own Bazel output, so that none disturbs another's.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.NOTPARALLEL:

DEFAULT_TF_VERSION := 2.16.2
TF_VERSION ?= $(DEFAULT_TF_VERSION)
BAZEL ?= bazel
JOBS ?= $(shell nproc)
# Tests wait for processes, servers and timeouts for much of their time.
TEST_JOBS ?= $(shell expr $(JOBS) + 1)
DATA ?=
STEPS ?=
CASES ?= 24
FILES ?= 1000
WINDOWS ?= 67
SEED ?= 1

LANE := tf$(subst .,,$(basename $(TF_VERSION)))
REQUIREMENTS := requirements/$(LANE).txt requirements/dev.txt requirements/stores.txt
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/liquid_tf
CHECKOUT_ID := $(shell printf %s '$(CURDIR)' | md5sum | cut -c1-12)

ifeq ($(TF_VERSION),$(DEFAULT_TF_VERSION))
VENV := .venv
LINKS := build/bazel
STARTUP :=
# Once is enough for what needs no TensorFlow.
SANITIZE := sanitize
# Apache Beam goes with this TensorFlow only.
REQUIREMENTS += requirements/scaling.txt
else
VENV := .venv-$(TF_VERSION)
LINKS := build/bazel-$(TF_VERSION)
STARTUP := --output_base=$(CACHE)/bazel-$(CHECKOUT_ID)-$(TF_VERSION)
endif

PY := $(VENV)/bin/python
RUN_BAZEL = PYTHON_BIN_PATH=$(abspath $(PY)) $(BAZEL) $(STARTUP)
# What does not face TensorFlow is compiled for one version, and taken from the cache for
# the other.
FLAGS = --jobs=$(JOBS) --symlink_prefix=$(LINKS)/ --disk_cache=$(CURDIR)/build/objects
BUILD_FLAGS ?=
TEST_FLAGS = $(FLAGS) --jobs=$(TEST_JOBS) --local_test_jobs=$(TEST_JOBS)
# What counts the test cases, passed, failed and skipped.
COUNT_TESTS ?= python3 .ci/count_tests.py

LIBRARY := $(LINKS)/bin/ops/_liquid_ops.so
# Of a folder that Bazel links to: what a wheel has besides op libraries.
STAGE = $(WHEEL_PY) tools/wheel/stage.py --engine=$(1)/bin/ops/libliquid_engine.so \
  --kit=$(1)/bin/ops/kit
STAMP := $(VENV)/.installed
TEST_REPORT := build/tests-$(TF_VERSION).json
NIGHTLY_REPORT := build/tests-nightly.json

# Wheels are made by a Python of their own, whose setuptools is pinned, and built against
# the headers of TensorFlow's wheels: nothing that is installed makes a difference, nor
# does a CUDA compiler, unless NVCC names one.
WHEEL_VERSIONS ?= $(shell sed -n 's/^tensorflow-cpu==//p' requirements/wheels.txt)
WHEEL_PY := build/wheel-python/bin/python
WHEEL_BAZEL = NVCC=$(or $(NVCC),none) PYTHON_BIN_PATH=$(abspath $(WHEEL_PY)) \
  $(BAZEL) --output_base=$(CACHE)/bazel-$(CHECKOUT_ID)-wheels
WHEEL_FLAGS = --jobs=$(JOBS) --symlink_prefix=build/wheels/bazel/
# The times in what is made. An unpacked source distribution has no commit.
export SOURCE_DATE_EPOCH ?= $(or $(shell git log -1 --format=%ct 2>/dev/null),315532800)
PACK = $(WHEEL_PY) -m pip wheel --disable-pip-version-check --no-build-isolation \
  --no-deps --quiet

# Unpacked parts of TensorFlow's wheels. Removed by `make clean`, else kept.
PLATFORM ?= manylinux_2_17_x86_64
HEADERS ?= build/tensorflow$(patsubst %,/%,$(filter-out %_x86_64,$(PLATFORM)))

LANE_WHEEL := build/wheel-$(TF_VERSION)
LANE_VENV := build/wheel-venv-$(TF_VERSION)
LOADERS_VENV := build/loaders-venv-$(TF_VERSION)
APART_VENV := build/apart-venv-$(TF_VERSION)
BACKENDS_VENV := build/backends-venv-$(TF_VERSION)
RECIPES_VENV := build/recipes-venv-$(TF_VERSION)
ENCODERS_VENV := build/encoders-venv
SITE_VENV := build/site-venv
AARCH64 := build/aarch64
# What needs no TensorFlow is the same with every one, and tested with the default.
ifneq ($(TF_VERSION),$(DEFAULT_TF_VERSION))
WITHOUT_TF := core codecs containers direct engine gpu http image message reader sampler
LEFT_OUT := $(WITHOUT_TF:%=-//tests/ops/%/...) -//tests/fuzz/...
TAGS := -once,
endif
# What several threads run in the C++ without TensorFlow.
THREADED := //tests/ops/core/... //tests/ops/engine/... //tests/ops/http/... //tests/ops/reader/...
SOURCES = $(shell find ops tests -name '*.cc' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh')

.PHONY: help setup library demo test nightly nightly-test lint unit-test sanitize wheel-test loaders-test backends-test recipes-test encoders-test aarch64-test tutorials format site wheels sdist reproducible release-check stop clean

help:
	@echo 'make setup    install what is missing, make $(VENV), build the ops'
	@echo 'make demo     set up, then convert, train and measure (DATA=folder, STEPS=n)'
	@echo 'make test     set up, check the style, run every test, list the skipped'
	@echo 'make nightly  test benchmarks, studies, the demo and a soak, which make test leaves out'
	@echo 'make sanitize run the C++ tests under address, undefined-behaviour and thread'
	@echo '              sanitizers; part of make test with the default TensorFlow'
	@echo 'make tutorials   run the pages of docs/tutorials, and compare what they print'
	@echo 'make loaders-test  try a view in the loaders of Grain and PyTorch, and ours in PyTorch'
	@echo '              and JAX, where no TensorFlow is installed'
	@echo 'make backends-test  train by Keras with JAX and with PyTorch, and run their tutorials'
	@echo '              and, as make recipes-test does, recipes for data of other libraries'
	@echo 'make encoders-test  decode JPEG files of three encoders as Pillow does, to the bit'
	@echo '              (FILES=1000 WINDOWS=67 SEED=1)'
	@echo 'make aarch64-test  go on, on an emulated AArch64, where runs stand here (CASES=24 SEED=1)'
	@echo 'make format   format C++ and Python'
	@echo 'make site     build the documentation in build/site, and check its links'
	@echo 'make wheels   put the wheel into dist/, with an op library for every TensorFlow of'
	@echo '              requirements/wheels.txt (WHEEL_VERSIONS=...: only for these)'
	@echo 'make sdist    put the source distribution into dist/'
	@echo 'make reproducible   make both twice, from two folders, and compare the bytes'
	@echo 'make release-check  use the wheel of dist/ in clean systems, as root'
	@echo 'make stop     end the Bazel server'
	@echo 'make clean    remove what was built'
	@echo
	@echo 'TF_VERSION=$(TF_VERSION) (2.16.2 or 2.21.0)  BAZEL=$(BAZEL)  JOBS=$(JOBS)'

requirements/$(LANE).txt:
	@echo 'TF_VERSION ("$(TF_VERSION)") must be one that requirements/ pins:' \
	  "$$(sed -n 's/^tensorflow-cpu==//p' requirements/tf*.txt | xargs)" >&2; exit 1

$(STAMP): $(REQUIREMENTS) tools/setup.sh
	BAZEL=$(BAZEL) tools/setup.sh $(VENV) $(REQUIREMENTS)
	@touch $@

setup: library

library: $(STAMP)
	$(RUN_BAZEL) build $(FLAGS) $(BUILD_FLAGS) //ops:_liquid_ops.so

demo: setup
	LIQUID_OPS_LIBRARY=$(abspath $(LIBRARY)) $(PY) -m tools.demo \
	  $(if $(DATA),--data='$(DATA)') $(if $(STEPS),--steps=$(STEPS))
	@echo 'Now yours: . $(VENV)/bin/activate, then "A first training" in README.md.'

# The report of an earlier run must not be counted where this one ends early.
test:
	@rm -f $(TEST_REPORT)
	@result=0; $(MAKE) --no-print-directory lint unit-test $(SANITIZE) wheel-test || result=$$?; \
	  $(COUNT_TESTS) $(TEST_REPORT):$$result && exit $$result

lint: $(STAMP)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	clang-format-16 --dry-run -Werror $(SOURCES)

unit-test: $(STAMP)
	mkdir -p $(dir $(TEST_REPORT))
	$(RUN_BAZEL) test $(TEST_FLAGS) $(BUILD_FLAGS) --keep_going --test_tag_filters=$(TAGS)-nightly \
	  --build_event_json_file=$(TEST_REPORT) -- //... $(LEFT_OUT)

# What takes long and is no part of `make test`. Once it has passed, .ci/run leaves it
# out until the code changes.
nightly: nightly-test
	python3 .ci/nightly.py write

nightly-test: $(STAMP)
	mkdir -p $(dir $(NIGHTLY_REPORT))
	@rm -f $(NIGHTLY_REPORT)
	@result=0; $(RUN_BAZEL) test $(TEST_FLAGS) --keep_going --test_tag_filters=nightly \
	  --build_event_json_file=$(NIGHTLY_REPORT) -- //tests/... || result=$$?; \
	  $(COUNT_TESTS) $(NIGHTLY_REPORT):$$result && exit $$result

# No other run takes these objects: they go into no cache.
sanitize: FLAGS += --disk_cache=
sanitize: $(STAMP)
	$(RUN_BAZEL) test $(FLAGS) --keep_going --test_lang_filters=cc \
	  --build_tests_only --config=asan //tests/ops/...
	$(RUN_BAZEL) test $(FLAGS) --keep_going --test_lang_filters=cc \
	  --build_tests_only --config=tsan $(THREADED)

format: $(STAMP)
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	clang-format-16 -i $(SOURCES)

$(WHEEL_PY): requirements/wheel_tools.txt
	python3 -m venv --clear build/wheel-python
	$@ -m pip install --disable-pip-version-check --quiet -r $<
	@touch $@

$(HEADERS)/%/.fetched: | $(WHEEL_PY)
	rm -rf $(dir $@)
	$(WHEEL_PY) tools/wheel/fetch.py $* $(dir $@) $(PLATFORM)
	@touch $@

# What does not face TensorFlow is compiled once.
wheels: $(WHEEL_VERSIONS:%=$(HEADERS)/%/.fetched) $(WHEEL_PY)
	rm -rf build/wheels
	mkdir -p build/wheels dist
	for version in $(WHEEL_VERSIONS); do \
	  LIQUID_TENSORFLOW=$(abspath $(HEADERS))/$$version $(WHEEL_BAZEL) build \
	    $(WHEEL_FLAGS) $(BUILD_FLAGS) //ops:_liquid_ops.so //ops:kit && \
	  cp build/wheels/bazel/bin/ops/_liquid_ops.so build/wheels/$$version.so || exit; done
	$(call STAGE,build/wheels/bazel) --stage=build/wheels/stage \
	  $(WHEEL_VERSIONS:%=build/wheels/%.so)
	rm -f dist/*.whl
	$(PACK) --wheel-dir=dist ./build/wheels/stage
	@ls -l dist/*.whl

sdist: $(WHEEL_PY)
	mkdir -p dist
	$(WHEEL_PY) tools/wheel/sdist.py dist

# Of the last commit. With variables: python3 tools/wheel/twice.py WHEEL_VERSIONS=2.21.0
reproducible:
	python3 tools/wheel/twice.py

release-check:
	python3 tools/wheel/release_check.py dist/*.whl

# A wheel with the op library of this TensorFlow alone is installed away from the
# checkout, beside the TensorFlow of $(VENV).
wheel-test: setup $(WHEEL_PY)
	$(RUN_BAZEL) build $(FLAGS) $(BUILD_FLAGS) //ops:kit
	rm -rf $(LANE_WHEEL) $(LANE_VENV)
	$(call STAGE,$(LINKS)) --stage=$(LANE_WHEEL)/stage $(LIBRARY)
	$(PACK) --wheel-dir=$(LANE_WHEEL) ./$(LANE_WHEEL)/stage
	$(PY) -m venv --without-pip $(LANE_VENV)
	$(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	  > $$(echo $(LANE_VENV)/lib/python*/site-packages)/tensorflow.pth
	$(PY) -m pip --python $(LANE_VENV)/bin/python --disable-pip-version-check \
	  install --quiet --no-index --no-deps $(LANE_WHEEL)/*.whl
	cd / && env -u LIQUID_OPS_LIBRARY TF_CPP_MIN_LOG_LEVEL=3 \
	  $(abspath $(LANE_VENV))/bin/python -I $(CURDIR)/tests/wheel_check.py \
	  $(CURDIR)/$(LANE_WHEEL)/*.whl
	$(PY) -m pip --python $(LANE_VENV)/bin/python --disable-pip-version-check \
	  install --quiet --no-index --no-deps --no-build-isolation --editable .
	cd / && env -u LIQUID_OPS_LIBRARY TF_CPP_MIN_LOG_LEVEL=3 $(abspath $(LANE_VENV))/bin/python \
	  -I -c 'import numpy, liquid_tf.codecs as c; \
	    assert c.encode(numpy.zeros((1, 1, 1), "u1"), "png").numpy()[1:4] == b"PNG"'

$(SITE_VENV)/.installed: requirements/site.txt
	python3 -m venv --clear $(SITE_VENV)
	$(SITE_VENV)/bin/python -m pip install --disable-pip-version-check --quiet -r $<
	@touch $@

# The variable silences an announcement of the theme.
site: $(SITE_VENV)/.installed
	NO_MKDOCS_2_WARNING=1 $(SITE_VENV)/bin/mkdocs build --quiet
	$(SITE_VENV)/bin/python tools/site/check.py build/site

# Says how long each page takes, and which ones need more than is installed.
tutorials: setup
	LIQUID_OPS_LIBRARY=$(abspath $(LIBRARY)) PYTHONPATH=.:tests TF_CPP_MIN_LOG_LEVEL=2 \
	  $(PY) tests/tutorials_test.py

# Two environments of what others bring, beside the TensorFlow of $(VENV).
define BESIDE
	$(PY) -m venv --clear $(1)
	$(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	  > $$(echo $(1)/lib/python*/site-packages)/tensorflow.pth
	$(1)/bin/pip install --disable-pip-version-check --quiet \
	  -c requirements/$(LANE).txt -r $(2)
endef
TRY = LIQUID_OPS_LIBRARY=$(abspath $(LIBRARY)) PYTHONPATH=.:tests/liquid_tf

# A view in the loaders of others, and our loader where there is no TensorFlow.
loaders-test: setup
	$(call BESIDE,$(LOADERS_VENV),requirements/loaders.txt)
	$(TRY) $(LOADERS_VENV)/bin/python tests/liquid_tf/view/loaders_test.py
	python3 -m venv --clear $(APART_VENV)
	$(APART_VENV)/bin/pip install --disable-pip-version-check --quiet \
	  -r requirements/without_tensorflow.txt
	LIQUID_TEST_PYTHON=$(abspath $(APART_VENV))/bin/python $(TRY) $(PY) \
	  tests/liquid_tf/loader/frameworks_check.py

# Keras with JAX and with PyTorch.
backends-test: setup
	$(call BESIDE,$(BACKENDS_VENV),requirements/backends_$(LANE).txt)
	$(TRY) $(BACKENDS_VENV)/bin/python tests/liquid_tf/keras/backends_test.py
	$(TRY):tests TF_CPP_MIN_LOG_LEVEL=2 $(BACKENDS_VENV)/bin/python tests/tutorials_test.py \
	  TutorialsTest.test_runs_as_shown_pytorch TutorialsTest.test_runs_as_shown_jax \
	  TutorialsTest.test_runs_as_shown_libraries \
	  GuidesTest.test_runs_as_shown_from_pytorch

# Recipes for data of other libraries. mosaicml-streaming does not take the NumPy of other TensorFlows.
ifeq ($(TF_VERSION),$(DEFAULT_TF_VERSION))
backends-test: recipes-test
endif

recipes-test: setup
	$(call BESIDE,$(RECIPES_VENV),requirements/recipes.txt)
	$(TRY):tests TF_CPP_MIN_LOG_LEVEL=2 $(RECIPES_VENV)/bin/python tests/recipes_test.py

# JPEG of other encoders, which this Python decodes beside ours; no TensorFlow.
encoders-test: $(STAMP)
	python3 -m venv --clear $(ENCODERS_VENV)
	$(ENCODERS_VENV)/bin/pip install --disable-pip-version-check --quiet \
	  -r requirements/encoders.txt
	$(RUN_BAZEL) build $(FLAGS) //tests/ops/codecs:libjpeg_capi.so
	$(ENCODERS_VENV)/bin/python tests/ops/codecs/jpeg_encoders.py \
	  --library=$(LINKS)/bin/tests/ops/codecs/libjpeg_capi.so \
	  --files=$(FILES) --windows=$(WINDOWS) --seed=$(SEED)

# The engine for AArch64, in an emulator: it goes on where runs stand here.
aarch64-test: setup
	PYTHON=$(PY) tools/aarch64_root.sh $(AARCH64)
	CC=$(abspath $(AARCH64))/toolchain/gcc AR=aarch64-linux-gnu-ar NVCC=none \
	  PYTHON_BIN_PATH=$(abspath $(PY)) $(BAZEL) \
	  --output_base=$(CACHE)/bazel-$(CHECKOUT_ID)-aarch64 build $(FLAGS) \
	  --symlink_prefix=$(AARCH64)/bazel/ //ops:libliquid_engine.so
	$(TRY):tests/liquid_tf/pipeline TF_CPP_MIN_LOG_LEVEL=2 $(PY) \
	  tests/liquid_tf/loader/aarch64_make.py $(AARCH64)/cases $(CASES) $(SEED)
	PYTHONPATH=. LIQUID_ENGINE_LIBRARY=$(AARCH64)/bazel/bin/ops/libliquid_engine.so \
	  qemu-aarch64 -L $(AARCH64)/root $(AARCH64)/root/usr/bin/python3 \
	  tests/liquid_tf/loader/aarch64_check.py $(AARCH64)/cases

# Ends the Bazel server, which would otherwise wait for the next command.
stop:
	-$(BAZEL) $(STARTUP) shutdown

clean:
	-$(BAZEL) clean --expunge
	-for base in $(CACHE)/bazel-$(CHECKOUT_ID)-*; do \
	  [ ! -d $$base ] || $(BAZEL) --output_base=$$base clean --expunge; done
	rm -rf build dist
