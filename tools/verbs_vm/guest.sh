# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Runs in a machine, with the host's files: makes the two RoCE ports and runs the command. The folder /run/share holds
# `command`, one word a line in hexadecimal, and takes its output and its status.
share=/run/share
# shellcheck source=/dev/null
. "$share/settings"  # HOST, HOSTS, FOLDER, and variables for the command
output=$share/output.$HOST
exec > "$output" 2>&1 < /dev/null

give_up() {
  echo "verbs-vm: host $HOST: $*"
  echo 125 > "$share/status.$HOST"
  exit
}
ip link set lo up
for port in 0 1; do
  # 4200 bytes, so that the path has RoCE's longest MTU, 4096.
  ip link set "eth$port" mtu 4200 up || give_up "eth$port does not start"
  ip address add "10.9.$port.$((HOST + 1))/24" dev "eth$port" || give_up "eth$port takes no address"
  rdma link add "rxe$port" type rxe netdev "eth$port" || give_up "rxe$port cannot be made"
done
hostname "host$HOST"
mkdir -p /run/lock /run/user
cd "$FOLDER" || give_up "there is no folder $FOLDER"
words=()
while read -r word; do words+=("$(printf '%b' "$word")"); done < "$share/command"
status=0
"${words[@]}" || status=$?
echo "$status" > "$share/status.$HOST"
