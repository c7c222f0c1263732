# fish completion for olpctl(8)
# SPDX-License-Identifier: ISC
#
# The table is what "olpctl help --names" prints: the words so far, a colon,
# what may follow.  A test keeps the two the same.
set -g __olpctl_table '
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

function __olpctl_follow
    set -l place olpctl
    set -l file
    set -l last
    set -l tokens (commandline -opc)
    for word in $tokens[2..]
        switch "$last"
            case -f
                set file -f $word
                set last
                continue
            case --tier --kind --providers --models --runs --starts-per-minute --hours --expires --credential --key
                set last
                continue
        end
        set last $word
        string match -q -- '-*' $word; or set place "$place $word"
    end
    switch "$last"
        case -f
            __fish_complete_path
            return
        case --tier
            printf '%s\n' owner member
            return
        case --kind
            printf '%s\n' api-key oauth-token
            return
        case --providers --models --runs --starts-per-minute --hours --expires --credential --key
            return
    end
    for line in (string split \n -- $__olpctl_table)
        if string match -q -- "$place: *" $line
            string split ' ' -- (string replace -- "$place: " '' $line)
        end
    end
    switch $place
        case 'olpctl key show' 'olpctl key rotate' 'olpctl key revoke' 'olpctl key delete'
            olpctl $file key list 2>/dev/null | tail -n +2 | cut -d ' ' -f 1
    end
end

complete -c olpctl -f -a '(__olpctl_follow)'
