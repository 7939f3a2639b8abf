#!/bin/bash
set -e
BUILD_DIR=build
mkdir -p $BUILD_DIR && cd $BUILD_DIR
# 关键:指定CANN路径下的交叉编译工具链
export ASCEND_CMPP_PATH=/usr/local/Ascend/ascend-toolkit/latest
cmake .. -DCMAKE_C_COMPILER=$ASCEND_CMPP_PATH/bin/aclc \
-DCMAKE_CXX_COMPILER=$ASCEND_CMPP_PATH/bin/aclc++
make -j8
