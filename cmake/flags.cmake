# SPDX-License-Identifier: ISC
# The flags every target takes, as one interface target.
include(CheckCCompilerFlag)
add_library(olp_flags INTERFACE)
target_include_directories(olp_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_definitions(olp_flags INTERFACE _GNU_SOURCE OLP_VERSION="${PROJECT_VERSION}")
target_compile_options(olp_flags INTERFACE
  -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
  -Wpointer-arith -Wcast-qual -Wwrite-strings -Wformat=2 -Wvla -Wswitch-enum)
if(OLP_WERROR)
  target_compile_options(olp_flags INTERFACE -Werror)
endif()
if(OLP_SANITIZE)
  target_compile_options(olp_flags INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(olp_flags INTERFACE -fsanitize=address,undefined)
endif()
if(OLP_FUZZ)
  target_compile_options(olp_flags INTERFACE -fsanitize=fuzzer-no-link,address,undefined
    -fno-sanitize-recover=undefined)
  target_link_options(olp_flags INTERFACE -fsanitize=address,undefined)
endif()
if(OLP_COVERAGE)
  target_compile_options(olp_flags INTERFACE -fprofile-instr-generate -fcoverage-mapping
    "SHELL:-mllvm -runtime-counter-relocation")
  target_link_options(olp_flags INTERFACE -fprofile-instr-generate)
endif()
foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection)
  string(MAKE_C_IDENTIFIER "HAVE${flag}" var)
  check_c_compiler_flag(${flag} ${var})
  if(${var})
    target_compile_options(olp_flags INTERFACE ${flag})
  endif()
endforeach()
if(CMAKE_BUILD_TYPE MATCHES "Rel" AND NOT OLP_SANITIZE AND NOT OLP_FUZZ)
  target_compile_options(olp_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
target_link_options(olp_flags INTERFACE -Wl,-z,relro -Wl,-z,now)

# Programs that run inside a sandbox whose file tree holds no library.
add_library(olp_static INTERFACE)
target_include_directories(olp_static INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_definitions(olp_static INTERFACE _GNU_SOURCE OLP_VERSION="${PROJECT_VERSION}")
target_compile_options(olp_static INTERFACE -O2 -Wall -Wextra -Wshadow -Wstrict-prototypes
  -Wmissing-prototypes -Wcast-qual -Wwrite-strings -Wformat=2 -Wvla -Werror
  -fstack-protector-strong -ffunction-sections -fdata-sections)
target_link_options(olp_static INTERFACE -static -Wl,--gc-sections)
