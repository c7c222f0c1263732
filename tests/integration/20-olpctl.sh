#!/bin/sh
# SPDX-License-Identifier: ISC
#
# olpctl: key files, credentials, exit codes, what kill -9 leaves; with
# --daemon also what a running olpd confirms.
#
# usage: 20-olpctl.sh BUILD [--daemon]
set -u

build=${1:?usage: 20-olpctl.sh BUILD [--daemon]}
daemon=${2:-}
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
olpctl=$build/sbin/olpctl
dir=$(mktemp -d)
chmod 0755 "$dir"
conf=$dir/olpd.conf
keys=$dir/keys.d
olpd=
n=0
failed=0

cleanup()
{
	if [ -n "$olpd" ]; then
		kill -CONT "$olpd" 2>/dev/null
		kill "$olpd" 2>/dev/null
		wait "$olpd" 2>/dev/null
	fi
	rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

ok()
{
	n=$((n + 1))
	printf 'ok %d - %s\n' $n "$1"
}

not_ok()
{
	n=$((n + 1))
	failed=$((failed + 1))
	printf 'not ok %d - %s\n' $n "$1"
	sed 's/^/#   /' "$dir/out" "$dir/err" 2>/dev/null | head -n 30
}

# check TEXT COMMAND...: the command succeeds.
check()
{
	what=$1
	shift
	if "$@"; then ok "$what"; else not_ok "$what"; fi
}

# ctl CODE ARG...: olpctl ends with that code; its words are in out and err.
ctl()
{
	want=$1
	shift
	"$olpctl" -f "$conf" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	[ "$got" -eq "$want" ] || {
		echo "# exit $got, expected $want: $*"
		return 1
	}
}

# json FILTER: of out, by jq.
json()
{
	jq -er "$1" "$dir/out"
}

true_json()
{
	json "$1" >/dev/null
}

is()
{
	[ "$(json "$1")" = "$2" ] || {
		echo "# $1 is $(json "$1"), expected $2"
		return 1
	}
}

says()
{
	grep -q -- "$1" "$dir/err" "$dir/out"
}

mode()
{
	stat -c %a "$1"
}

write_conf()
{
	cat >"$conf" <<-END
		listen on socket "$dir/api.sock"
		state directory "$dir/state"
		runtime directory "$dir/run"
		uid-range 71000 to ${1:-71199}
		service-ids 70996
		enforcement allow partial
		provider demo { }
		provider claude { command "/bin/true" }
		model "demo" { chain demo "demo" }
		model "sonnet" { chain claude "claude-sonnet-4-6" }
	END
	chmod 0640 "$conf"
}

command -v jq >/dev/null || {
	echo "jq is missing" >&2
	exit 77
}
write_conf

# ---- one key's life ----

check "a key is added" ctl 0 key add alice --json
token=$(json .token)
check "its token has the form olp_ and 43 characters" \
	sh -c "echo '$token' | grep -Eqx 'olp_[A-Za-z0-9_-]{43}'"
check "the first uid is the third of the range" is .uid 71002
check "without --providers it may use all" is '.providers | join(",")' demo,claude
check "no daemon is told" is .daemon none
check "the token is in no file" sh -c "! grep -rq '$token' '$dir/keys.d' '$dir/state'"
check "but its hash is" grep -q "$(printf %s "$token" | sha256sum | cut -d ' ' -f 1)" "$keys/alice.conf"
check "the file has mode 0600" [ "$(mode "$keys/alice.conf")" = 600 ]
check "and the directory 0700" [ "$(mode "$keys")" = 700 ]
check "the same id again is an error" ctl 1 key add alice
check "that names it" says "a key alice already"
check "people see the token, too" ctl 0 key add bob --tier owner --providers demo
check "once" sh -c "grep -Ec 'olp_[A-Za-z0-9_-]{43}' '$dir/out' | grep -qx 1"
check "every option" ctl 0 key add carol --json --tier member --providers demo,claude \
	--models demo --runs 3 --starts-per-minute=7 --hours 07:00-21:30 --expires 2090-01-31 \
	--require-full --credential "claude=oauth-token:$dir/later"
check "comes back" ctl 0 key show carol --json
check "as it was" is '[.tier, .runs, .starts_per_minute, .hours, .expires, .require_full,
	.credentials[0].kind, (.models | join(","))] | map(tostring) | join(" ")' \
	"member 3 7 07:00-21:30 2090-01-31T00:00:00Z true oauth-token demo"
check "show for people" ctl 0 key show carol
check "lists" ctl 0 key list --json
check "all three" is 'map(.id) | join(" ")' "alice bob carol"
check "for people, too" ctl 0 key list
check "with the owner" says "bob .*owner"

check "rotation adds a token" ctl 0 key rotate alice --json
second=$(json .token)
check "another one" [ "$second" != "$token" ]
check "both hashes are there" sh -c "grep -c sha256 '$keys/alice.conf' | grep -qx 2"
check "a third is refused" ctl 1 key rotate alice
check "it can be finished" ctl 0 key rotate alice --finish --json
check "without a token" sh -c "! grep -q olp_ '$dir/out'"
check "then the newer hash is left" \
	grep -q "$(printf %s "$second" | sha256sum | cut -d ' ' -f 1)" "$keys/alice.conf"
check "alone" sh -c "grep -c sha256 '$keys/alice.conf' | grep -qx 1"
check "and nothing more to finish" ctl 1 key rotate alice --finish

check "revoke" ctl 0 key revoke alice --json
check "says so" is .state revoked
check "the file too" grep -qx "	revoked" "$keys/alice.conf"
check "again is fine" ctl 0 key revoke alice
check "a revoked key is not rotated" ctl 1 key rotate alice
check "delete" ctl 0 key delete carol
check "it is gone" [ ! -e "$keys/carol.conf" ]
check "the uid is not used again" sh -c "'$olpctl' -f '$conf' key add carol --json | jq -e '.uid == 71005' >/dev/null"

# ---- mistakes ----

for id in "" A 1a a_b a.b ../x "$(printf %025d 0 | tr 0 a)"; do
	check "id '$id' is refused" ctl 2 key add "$id"
done
check "24 characters are not" ctl 0 key add "$(printf %024d 0 | tr 0 a)"
check "a command is needed" ctl 2
check "a known one" ctl 2 keys
check "an id is needed" ctl 2 key show
check "one only" ctl 2 key show a b
check "no unknown option" ctl 2 key list --all
check "nor another command's" ctl 2 key list --runs 2
check "nor one without its value" ctl 2 key add dave --runs
check "nor twice" ctl 2 key add dave --runs 1 --runs 2
for opt in "--tier boss" "--runs 0" "--runs 2x" "--hours 7-9" "--hours 07:00-07:00" \
	"--expires soon" "--expires 2001-01-01" "--starts-per-minute -1" "--providers ,demo" \
	"--credential claude=key:/x" "--credential claude=api-key:x"; do
	# shellcheck disable=SC2086
	check "$opt is refused" ctl 2 key add dave $opt
done
check "an unknown provider is refused" ctl 1 key add dave --providers nobody
check "and named" says nobody
check "an unknown model" ctl 1 key add dave --models gpt
check "is named" says gpt
check "a model of a provider the key lacks" ctl 1 key add dave --providers demo --models sonnet
check "is named" says "sonnet is of provider claude"
check "nothing of dave was written" [ ! -e "$keys/dave.conf" ]
check "no such key: show" ctl 1 key show dave
check "revoke" ctl 1 key revoke dave
check "delete" ctl 1 key delete dave
check "status needs a daemon" ctl 4 status
check "reload too" ctl 4 reload
check "standard output that is full is told" \
	sh -c "! '$olpctl' -f '$conf' key list >/dev/full 2>'$dir/err'"
check "standard output that is closed gets no token into a file" \
	sh -c "! '$olpctl' -f '$conf' key add closed >&- 2>'$dir/err' || ! grep -rq olp_ '$keys'"

# ---- olpd.conf with errors, and key files with errors ----

cp "$conf" "$dir/good"
echo "frobnicate yes" >>"$conf"
check "add needs a good olpd.conf" ctl 1 key add erin
check "and names the line" says "$conf:11"
check "revoke does not" ctl 0 key revoke bob
check "it warns" says frobnicate
check "delete does not" ctl 0 key delete bob
sed 's/^runtime directory/runtime directry/' "$dir/good" >"$conf"
check "a daemon that may hide elsewhere is not taken for none" ctl 1 key revoke carol
check "the file is written all the same" grep -q revoked "$keys/carol.conf"
cp "$dir/good" "$conf"
echo "key \"frank\" { uid 71050 tokn }" >"$keys/frank.conf"
chmod 600 "$keys/frank.conf"
check "a faulty file is listed" ctl 0 key list --json
check "as broken, with its error" sh -c \
	"jq -e '.[] | select(.id == \"frank\") | .state == \"broken\" and (.errors | length) > 0' '$dir/out' >/dev/null"
check "its uid stays taken" sh -c "'$olpctl' -f '$conf' key add grace --json | jq -e '.uid > 71050' >/dev/null"
check "it can be revoked" ctl 0 key revoke frank
check "in the file as it is" grep -q "revoked" "$keys/frank.conf"
check "and deleted" ctl 0 key delete frank
chmod 644 "$keys/grace.conf"
check "a file that others can read is broken" ctl 0 key list --json
check "says list" is '.[] | select(.id == "grace") | .state' broken
chmod 600 "$keys/grace.conf"

# ---- the mark ----

echo 71190 >"$dir/state/next-uid"
check "the mark counts" ctl 0 key add heidi --json
check "exactly" is .uid 71190
check "a deleted key" ctl 0 key delete heidi
check "does not lower it" grep -qx 71191 "$dir/state/next-uid"
rm "$dir/state/next-uid"
printf 'key "ivan" {\n\ttoken sha256 "%064d"\n\tuid 71195\n}\n' 7 >"$keys/ivan.conf"
chmod 600 "$keys/ivan.conf"
check "without a mark the files count" ctl 0 key add judy --json
check "all of them" is .uid 71196
check "a key that olpctl did not write" ctl 0 key delete ivan
echo 71100 >"$dir/state/next-uid"
printf 'key "ivan" {\n\ttoken sha256 "%064d"\n\tuid 71198\n}\n' 7 >"$keys/ivan.conf"
chmod 600 "$keys/ivan.conf"
check "leaves its number behind" ctl 0 key delete ivan
check "in the mark" grep -qx 71199 "$dir/state/next-uid"
check "the last of the range" ctl 0 key add last
check "then it is used up" ctl 1 key add more
check "and says so" says "used up"
echo "seven" >"$dir/state/next-uid"
check "a mark that is no number is an error" ctl 1 key add more
check "that names the file" says next-uid
rm -rf "$dir/state" "$keys"
write_conf 72999

# ---- many at once, and killed ----

i=0
while [ $i -lt 100 ]; do
	"$olpctl" -f "$conf" key add "k$i" --json >"$dir/par.$i" 2>&1 &
	i=$((i + 1))
done
wait
grep -h '^olpctl:' "$dir"/par.* | sort | uniq -c
check "100 adds at once" ctl 0 key list --json
check "are all there" is length 100
check "each active" is 'map(select(.state == "active")) | length' 100
check "with a uid of its own" is 'map(.uid) | unique | length' 100
check "and a token of its own" [ "$(cat "$dir"/par.* | jq -r .token | sort -u | wc -l)" = 100 ]

i=0
killed=0
while [ $i -lt 100 ]; do
	"$olpctl" -f "$conf" key add "z$i" --json >/dev/null 2>&1 &
	pid=$!
	sleep "0.$(printf %04d $((i % 25 * 10)))"
	kill -9 $pid 2>/dev/null && killed=$((killed + 1))
	wait $pid 2>/dev/null
	i=$((i + 1))
done 2>/dev/null
check "after $killed kills" ctl 0 key list --json
check "no file is broken" is 'map(select(.state != "active")) | length' 0
check "nor a uid given twice" is 'group_by(.uid) | map(select(length > 1)) | length' 0
check "a next one" ctl 0 key add after
check "sweeps up" [ -z "$(find "$keys" -name '.*.tmp')" ]

# ---- credentials ----

# cred CODE SECRET: store it as claude's.
cred()
{
	printf %b "$2" | "$olpctl" -f "$conf" credential set claude --json >"$dir/out" 2>"$dir/err"
	[ $? -eq "$1" ]
}
check "a credential is stored" cred 0 'sk-test-one\n'
check "beside olpd.conf" [ "$(cat "$dir/credentials/claude")" = sk-test-one ]
check "with mode 0600" [ "$(mode "$dir/credentials/claude")" = 600 ]
check "the line for olpd.conf is told" is .line "credential api-key file \"$dir/credentials/claude\""
check "the secret is not" sh -c "! grep -q sk-test '$dir/out' '$dir/err'"
sed "s|^provider claude.*|provider claude { command \"/bin/true\"\\
credential oauth-token file \"$dir/credentials/shared\" }|" "$conf" >"$conf.new"
mv "$conf.new" "$conf"
chmod 0640 "$conf"
check "a configured file is the one that is written" cred 0 'sk-test-two'
check "really" [ "$(cat "$dir/credentials/shared")" = sk-test-two ]
check "of the configured kind" is .kind oauth-token
check "then no line is needed" is '.line == null' true
check "one key's own" sh -c "echo sk-test-three | '$olpctl' -f '$conf' credential set claude --key k1 --kind api-key >/dev/null"
check "is named by its file" grep -q "credential claude api-key file \"$dir/credentials/k1.claude\"" "$keys/k1.conf"
check "list" ctl 0 credential list --json
check "has both" is 'map(.id) | join(" ")' "claude k1.claude"
check "in order" is 'map(.present and .mode_ok) | all' true
check "and shows none" sh -c "! grep -q sk-test '$dir/out'"
for bad in '' '\n' 'two words' 'two\nlines\n' '{"refresh_token":"x"}' 'gr\0303\0274n'; do
	check "'$bad' is refused" cred 1 "$bad"
done
check "too long is refused" sh -c "head -c 9000 /dev/zero | tr '\\0' x | '$olpctl' -f '$conf' credential set claude 2>/dev/null; [ \$? -eq 1 ]"
check "and nothing was lost" [ "$(cat "$dir/credentials/shared")" = sk-test-two ]
check "demo needs none" sh -c "echo x | '$olpctl' -f '$conf' credential set demo 2>/dev/null; [ \$? -eq 1 ]"
check "no such provider" sh -c "echo x | '$olpctl' -f '$conf' credential set nobody 2>/dev/null; [ \$? -eq 1 ]"
rm "$dir/credentials/shared"
check "a missing file" ctl 0 credential list --json
check "is listed as missing" is '.[0].problem' missing

# ---- rights ----

if [ "$(id -u)" = 0 ]; then
	as_other="setpriv --reuid 65534 --regid 65534 --clear-groups"
	check "another user may not read olpd.conf" sh -c \
		"$as_other '$olpctl' -f '$conf' key list 2>/dev/null; [ \$? -eq 3 ]"
	chmod 0644 "$conf"
	check "nor write keys" sh -c "$as_other '$olpctl' -f '$conf' key add mallory 2>/dev/null; [ \$? -eq 3 ]"
	check "nor list them" sh -c "$as_other '$olpctl' -f '$conf' key list 2>/dev/null; [ \$? -eq 3 ]"
	chmod 0640 "$conf"
	mkdir "$dir/theirs"
	cp "$conf" "$dir/theirs/"
	mkdir -m 0700 "$dir/theirs/keys.d"
	chown -R 65534 "$dir/theirs"
	check "root writes no key into a user's folder" sh -c \
		"'$olpctl' -f '$dir/theirs/olpd.conf' key add mallory 2>'$dir/err'; [ \$? -eq 3 ]"
else
	chmod 0 "$conf"
	check "an olpd.conf that may not be read" ctl 3 key list
	chmod 0640 "$conf"
fi
chmod 0777 "$keys"
check "a folder that others can write to is refused" ctl 3 key add mallory
chmod 0700 "$keys"

# ---- doctor ----

"$olpctl" -f "$conf" doctor --json >"$dir/out" 2>"$dir/err"
check "the doctor's report is JSON" true_json 'type == "array" and length > 20'
check "each check has its four fields" true_json 'map(keys == ["name", "result", "seen", "todo"]) | all'
check "and a known result" true_json 'map(.result | IN("ok", "warn", "fail")) | all'
check "each warning says what to do, each failure of the machine too" true_json \
	'map(select(.result == "warn" and .todo == null)) | length == 0'
for name in kernel namespaces landlock seccomp cgroup swap clock bubblewrap sandbox journal \
	numbers configuration directory keys daemon; do
	check "it looks at: $name" true_json "map(.name) | index(\"$name\") != null"
done
echo "frobnicate yes" >>"$conf"
check "a faulty olpd.conf fails" ctl 1 doctor --json
check "with its line" true_json 'map(select(.name == "configuration" and .result == "fail")) | length == 1'
write_conf 72999

# ---- completion ----

"$olpctl" help --names >"$dir/names"
for file in olpctl.bash _olpctl olpctl.fish; do
	sed -n "/^olpctl.*: /p" "$source_dir/packaging/completions/$file" >"$dir/table"
	check "$file has the words of olpctl" cmp -s "$dir/names" "$dir/table"
done
# What bash offers, asked without a terminal.
cat >"$dir/try.bash" <<-'END'
	. /usr/share/bash-completion/bash_completion
	. "$1"
	shift
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*"
	COMP_POINT=${#COMP_LINE}
	_olpctl
	echo "${COMPREPLY[*]}"
END
if [ -r /usr/share/bash-completion/bash_completion ]; then
	try()
	{
		want=$1
		shift
		[ "$(PATH=$build/sbin:$PATH bash "$dir/try.bash" \
			"$source_dir/packaging/completions/olpctl.bash" "$@")" = "$want" ]
	}
	check "bash: commands" try "key" olpctl k
	check "bash: subcommands, after an option" try "rotate revoke" olpctl --json key r
	check "bash: values" try "owner" olpctl key add x --tier o
	check "bash: ids" try "k99" olpctl -f "$conf" key show k99
else
	echo "# bash-completion is not installed"
fi
if command -v fish >/dev/null; then
	check "fish: subcommands" [ "$(fish -c "source '$source_dir/packaging/completions/olpctl.fish'
		complete -C 'olpctl key re'" | tr '\n' ' ')" = "revoke " ]
fi
if command -v zsh >/dev/null; then
	check "zsh: the file is sound" zsh -n "$source_dir/packaging/completions/_olpctl"
fi

# ---- a running daemon ----

if [ "$daemon" = --daemon ]; then
	rm -rf "$keys" "$dir/state"
	"$build/sbin/olpd" -d -f "$conf" >"$dir/olpd.log" 2>&1 &
	olpd=$!
	i=0
	until "$olpctl" -f "$conf" reload >/dev/null 2>&1 || [ $i -ge 100 ]; do
		sleep 0.1
		i=$((i + 1))
	done
	check "a reload is confirmed" ctl 0 reload --json
	check "by name" is .confirmed true
	check "a key is confirmed" ctl 0 key add live --json
	check "by name" is .daemon confirmed
	check "a rotation" ctl 0 key rotate live
	check "status" ctl 0 status --json
	check "is an object" true_json 'type == "object"'
	check "for people" ctl 0 status
	check "the doctor asks the probe" sh -c \
		"'$olpctl' -f '$conf' doctor --json 2>/dev/null | jq -e 'map(.name) | index(\"probe\") != null' >/dev/null"
	i=0
	while [ $i -lt 20 ]; do
		"$olpctl" -f "$conf" key add "m$i" --json >"$dir/par.m$i" 2>&1 &
		i=$((i + 1))
	done
	for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do
		j=0
		until jq -e .daemon "$dir/par.m$i" >/dev/null 2>&1 || [ $j -ge 300 ]; do
			sleep 0.1
			j=$((j + 1))
		done
	done
	check "20 at once are all confirmed" [ \
		"$(cat "$dir"/par.m* | jq -r .daemon | grep -cx confirmed)" = 20 ]
	cp "$conf" "$dir/good"
	echo "frobnicate yes" >>"$conf"
	check "a faulty olpd.conf is told" ctl 1 reload
	check "a key is revoked all the same" ctl 0 key revoke live --json
	check "and confirmed" is .daemon confirmed
	cp "$dir/good" "$conf"
	mkdir "$dir/other"
	cp "$conf" "$dir/other/olpd.conf"
	check "a daemon with other keys confirms nothing" sh -c \
		"'$olpctl' -f '$dir/other/olpd.conf' key add stray --json >'$dir/out'; [ \$? -eq 1 ]"
	check "by name" is .daemon unconfirmed
	kill -STOP "$olpd"
	check "a stopped daemon confirms nothing" ctl 1 key delete live --json
	check "by name" is .daemon unconfirmed
	check "but the file is gone" [ ! -e "$keys/live.conf" ]
	kill -CONT "$olpd"
	check "and a reload says so" ctl 0 reload
	kill "$olpd"
	wait "$olpd"
	check "olpd ended well" [ $? -eq 0 ]
	olpd=
	check "then no daemon is told" ctl 0 key revoke m1 --json
	check "by name" is .daemon none
fi

echo "1..$n"
echo "# $((n - failed)) passed, $failed failed"
[ $failed -eq 0 ]
