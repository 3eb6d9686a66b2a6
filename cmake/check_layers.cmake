# SPDX-License-Identifier: Apache-2.0
# cmake -P check_layers.cmake TREE: compares every #include with the order of rooms,
#   core <- model <- decoder <- methods <- trace <- inputs <- predict <- sim <- measure <- reports <- api <- gate
#   <- cli,
#   papers on predict, seen from reports on;   probes on decoder, seen by measure and cli alone,
# keeps third parties to their rooms, the console and environment to cli/, and files to core/files. Names each offender
# as file:line.
cmake_minimum_required(VERSION 3.25)
math(EXPR last "${CMAKE_ARGC} - 1")
set(tree ${CMAKE_ARGV${last}})

set(rooms core model decoder methods trace inputs predict sim probes measure papers reports api gate cli)
set(sees_core core)
set(sees_model core model)
set(sees_decoder core model decoder)
set(sees_methods core model decoder methods)
set(sees_trace ${sees_methods} trace)
set(sees_inputs ${sees_trace} inputs)
set(sees_predict ${sees_inputs} predict)
set(sees_sim ${sees_predict} sim)
set(sees_probes ${sees_decoder} probes)
set(sees_measure ${sees_sim} probes measure)
set(sees_papers ${sees_predict} papers)
set(sees_reports ${sees_sim} measure papers reports)
set(sees_api ${sees_reports} api)
set(sees_gate ${sees_api} gate)
set(sees_cli ${rooms})

# Inside model: what a folder may include of model's other folders, and whether of the files that lie in none.
set(model_transformers transformers)
set(model_devices transformers devices files)
set(model_kernels transformers devices kernels files)
set(model_engines transformers devices engines files)
set(model_calibration transformers devices kernels engines calibration files)
set(model_acceptance acceptance)
set(model_files transformers files)

# Third parties: what the include looks like | the rooms that may have it.
set(third_parties
  "^Eigen/|model"
  "^boost/|core model decoder inputs predict sim"
  "^Random123/|core"
  "^zlib\\.h$|core"
  "^(oneapi/)?tbb/|api"
  "^mpi\\.h$|cli"
  "^CLI/|cli"
  "^(cuda|cublas|cooperative_groups|nvToolsExt)|decoder/cuda probes"
  "^(catch2|gtest)/|nowhere"
  "^(iostream|print)$|cli")
# What libraries do not do: a regular expression on a line of code.
set(only_cli "(^|[^a-zA-Z0-9_.>])(std::)?(printf|puts|putchar|getenv|secure_getenv|setenv|abort|_Exit|quick_exit)[ ]*\\("
  "std::exit[ ]*\\(" "std::c(out|err|log|in)[^a-z_]" "fprintf[ ]*\\([ ]*(stdout|stderr)")

# How files are opened. measure/, probes/ and gate/ keep files of their own; core/text_file writes.
set(opens_files "(std::ifstream|std::fstream|fopen[ ]*\\(|(fs|filesystem)::(exists|is_[a-z_]+|[a-z_]*directory_iterator|file_size|status)[^a-z_])")
set(may_open "^(measure|probes|gate|cli)/|^core/(files|text_file)[.]cpp$")
# What changes and belongs to the whole process: a variable at its source's own level, or a static one of a function.
set(globals "^[ ]*(inline |static |thread_local )+([a-zA-Z_:][a-zA-Z0-9_:<>, *&]* )+[a-z_0-9]+[ ]*([={].*)?$")
set(may_be_global "^cli/|^decoder/cpu/huge_pages[.]cpp$")  # blocks of huge pages, as an allocator keeps them

set(offences 0)
function(offend file line what)
  message("${file}:${line}: ${what}")
  math(EXPR offences "${offences} + 1")
  set(offences ${offences} PARENT_SCOPE)
endfunction()

set(files_seen 0)
foreach(room IN LISTS rooms)
  file(GLOB_RECURSE files RELATIVE ${tree} ${tree}/${room}/*.h ${tree}/${room}/*.cpp ${tree}/${room}/*.cu ${tree}/${room}/*.cuh)
  foreach(file IN LISTS files)
    math(EXPR files_seen "${files_seen} + 1")
    file(READ ${tree}/${file} text)
    # CMake lists are split at semicolons and held together by brackets: none of them matters to this check.
    string(REGEX REPLACE "[][;\\]" " " text "${text}")
    string(REPLACE "\n" ";" lines "${text}")
    set(number 0)
    foreach(line IN LISTS lines)
      math(EXPR number "${number} + 1")
      if(number EQUAL 1 AND NOT line MATCHES "SPDX-License-Identifier: Apache-2.0")
        offend(${file} 1 "the first line is not the SPDX line")
      endif()
      if(line MATCHES "^[ \t]*#[ \t]*include[ \t]*\"([^\"]*)\"")
        set(header ${CMAKE_MATCH_1})
        string(REGEX MATCH "^[^/]*" other ${header})
        if(NOT other IN_LIST rooms OR NOT header MATCHES "/")
          offend(${file} ${number} "\"${header}\" does not start with a room")
        elseif(NOT other IN_LIST sees_${room})
          offend(${file} ${number} "${room} must not include ${other} (\"${header}\")")
        elseif(header MATCHES "^decoder/(cpu|cuda)/" AND room MATCHES "^(methods|trace|inputs|predict|sim|papers)$")
          offend(${file} ${number} "${room} sees decoder/ops.h, never a backend that computes (\"${header}\")")
        elseif(header MATCHES "^decoder/(cpu|cuda|priced)/" AND room STREQUAL "decoder")
          string(REGEX MATCH "^decoder/[a-z]+/" backend ${header})
          if(NOT file MATCHES "^${backend}")
            offend(${file} ${number} "nothing in decoder depends on one of its backends (\"${header}\")")
          endif()
        elseif(header MATCHES "^model/" AND room STREQUAL "model")
          set(from files)
          if(file MATCHES "^model/([^/]+)/")
            set(from ${CMAKE_MATCH_1})
          endif()
          set(to files)
          if(header MATCHES "^model/([^/]+)/")
            set(to ${CMAKE_MATCH_1})
          endif()
          if(NOT to IN_LIST model_${from})
            offend(${file} ${number} "in model, ${from} must not include ${to} (\"${header}\")")
          endif()
        elseif(header MATCHES "\\.\\.|\\.(cpp|cu)$")
          offend(${file} ${number} "\"${header}\" is not a header's path from the root")
        endif()
      elseif(line MATCHES "^[ \t]*#[ \t]*include[ \t]*<([^>]*)>")
        set(header ${CMAKE_MATCH_1})
        foreach(rule IN LISTS third_parties)
          string(REGEX MATCH "^(.*)[|]([^|]*)$" whole "${rule}")
          set(looks ${CMAKE_MATCH_1})
          string(REPLACE " " ";" allowed "${CMAKE_MATCH_2}")
          if(header MATCHES "${looks}")
            set(fine FALSE)
            foreach(place IN LISTS allowed)
              if(file MATCHES "^${place}/")
                set(fine TRUE)
              endif()
            endforeach()
            if(NOT fine)
              string(REPLACE ";" ", " allowed "${allowed}")
              offend(${file} ${number} "<${header}> belongs to: ${allowed}")
            endif()
          endif()
        endforeach()
      elseif(line MATCHES "print|put|env|bort|xit|std::|fopen|fs::|^[ ]*(inline|static|thread_local) ")  # fast; the rest is exact
        string(REGEX REPLACE "//.*" "" code "${line} ")
        if(NOT room STREQUAL "cli")
          foreach(pattern IN LISTS only_cli)
            if(code MATCHES "${pattern}")
              offend(${file} ${number} "only cli/ prints, exits or reads the environment (${CMAKE_MATCH_0})")
            endif()
          endforeach()
        endif()
        if(NOT file MATCHES "${may_open}" AND code MATCHES "${opens_files}")
          offend(${file} ${number} "files are read through core/files.h (${CMAKE_MATCH_0})")
        endif()
        if(code MATCHES "${globals}" AND NOT code MATCHES "const|[(]" AND NOT file MATCHES "${may_be_global}")
          offend(${file} ${number} "changes, and belongs to the whole process")
        endif()
      endif()
    endforeach()
  endforeach()
endforeach()

if(files_seen EQUAL 0)
  message(FATAL_ERROR "${tree} holds none of the rooms")
elseif(offences GREATER 0)
  message(FATAL_ERROR "${offences} offences in ${files_seen} files")
endif()
message(STATUS "${files_seen} files, every include points the right way")
