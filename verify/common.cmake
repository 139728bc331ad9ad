# SPDX-License-Identifier: GPL-2.0
# How the C++ beside the kernel tree is compiled: verify/ and benchmarks/.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
add_compile_options(-Wall -Wextra -Werror)

find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
