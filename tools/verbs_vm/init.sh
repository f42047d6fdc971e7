#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash
# The first process of a machine: loads modules, makes the host's files visible below a layer that takes all writes, and
# runs the shared folder's guest.sh there.
export PATH=/bin
/bin/busybox mkdir -p /proc /sys /dev /host /layer /all
/bin/busybox --install -s /bin
fail() { echo "verbs-vm: $*"; poweroff -f; }
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
while read -r module; do
  insmod "/modules/$module" || fail "the module $module cannot be loaded"
done < /modules/order
shared() { mount -t 9p -o "trans=virtio,version=9p2000.L,msize=524288$3" "$1" "$2" || fail "$1 cannot be mounted"; }
shared host /host ,ro,cache=loose
mount -t tmpfs tmpfs /layer
mkdir /layer/files /layer/work
mount -t overlay -o lowerdir=/host,upperdir=/layer/files,workdir=/layer/work overlay /all || fail "no overlay"
mount -t proc proc /all/proc
mount -t sysfs sysfs /all/sys
mount -t devtmpfs devtmpfs /all/dev
mkdir -p /all/dev/pts /all/dev/shm
mount -t devpts devpts /all/dev/pts
mount -t tmpfs tmpfs /all/dev/shm
mount -t tmpfs tmpfs /all/run
mkdir /all/run/share
shared share /all/run/share ""
if grep -q verbs_vm.user /proc/cmdline; then
  mkdir /all/run/user-share
  shared user /all/run/user-share ""
fi
chroot /all /bin/bash /run/share/guest.sh
sync
poweroff -f
