# bash completion for olpctl(8)                            -*- shell-script -*-
# SPDX-License-Identifier: ISC
#
# The table is what "olpctl help --names" prints: the words so far, a colon,
# what may follow.  A test keeps the two the same.
_olpctl_table='
olpctl: -f --json -h key credential status reload doctor help
olpctl key: add list show rotate revoke delete
olpctl credential: set list
olpctl key add: -f --json -h --tier --providers --models --runs --starts-per-minute --hours --expires --require-full --credential
olpctl key list: -f --json -h
olpctl key show: -f --json -h
olpctl key rotate: -f --json -h --finish
olpctl key revoke: -f --json -h
olpctl key delete: -f --json -h
olpctl credential set: -f --json -h --key --kind
olpctl credential list: -f --json -h
olpctl status: -f --json -h
olpctl reload: -f --json -h
olpctl doctor: -f --json -h
olpctl help: -f --json -h --names
'

# What may follow these words.
_olpctl_follow()
{
    local line
    while IFS= read -r line; do
        [[ $line == "$1: "* ]] && printf '%s\n' "${line#"$1: "}"
    done <<<"$_olpctl_table"
}

_olpctl()
{
    local cur prev words cword
    _init_completion || return
    case $prev in
        -f)
            _filedir
            return
            ;;
        --tier)
            mapfile -t COMPREPLY < <(compgen -W "owner member" -- "$cur")
            return
            ;;
        --kind)
            mapfile -t COMPREPLY < <(compgen -W "api-key oauth-token" -- "$cur")
            return
            ;;
        --providers | --models | --runs | --starts-per-minute | --hours | --expires | --credential | --key)
            return
            ;;
    esac
    local i place=olpctl file=()
    for ((i = 1; i < cword; i++)); do
        case ${words[i]} in
            -f)
                file=(-f "${words[i + 1]}")
                ((i++))
                ;;
            --tier | --kind | --providers | --models | --runs | --starts-per-minute | --hours | --expires | --credential | --key)
                ((i++))
                ;;
            -*) ;;
            *) place+=" ${words[i]}" ;;
        esac
    done
    local follow
    follow=$(_olpctl_follow "$place")
    case $place in
        "olpctl key show" | "olpctl key rotate" | "olpctl key revoke" | "olpctl key delete")
            follow+=" $(olpctl "${file[@]}" key list 2>/dev/null | tail -n +2 | cut -d ' ' -f 1)"
            ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$follow" -- "$cur")
} &&
    complete -F _olpctl olpctl
