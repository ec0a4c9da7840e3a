import { type ExclusionReason, IgnoreRules } from './ignore-rules.ts'

/** Default exclusions that a publisher can lift. The author of a folder lifts `dotfiles` for names that they list. */
export interface IncludeOptions {
  /** Includes hidden names, except known secrets and repositories. */
  dotfiles?: boolean
  /** Includes keys and other known secrets. Those with a hidden name need `dotfiles` as well. */
  secrets?: boolean
}

const DOTFILES = `
.*
!.well-known
`

const SECRETS = `
.env
.env.*
.envrc
.ssh
.aws
.gnupg
.kube
.netrc
.npmrc
.pypirc
.pgpass
.htpasswd
.git-credentials
id_rsa
id_dsa
id_ecdsa
id_ed25519
*.pem
*.key
*.p12
*.pfx
*.jks
*.keystore
*.kdbx
`

const DEPENDENCIES = 'node_modules'

/** Metadata of operating systems, and temporary files of editors. */
const SYSTEM_FILES = `
.DS_Store
._*
__MACOSX
Thumbs.db
desktop.ini
*~
*.swp
*.swo
\\#*#
`

// Parsed once: the server needs them for each archive.
const DOTFILE_RULES = parse(DOTFILES, 'dotfile')
const SECRET_RULES = parse(SECRETS, 'secret')
const TOOL_RULES = IgnoreRules.concatenate([
  parse(DEPENDENCIES, 'dependencies'),
  parse(SYSTEM_FILES, 'system'),
])

/** No rule of a folder and no option includes these; `.slipway` holds claim tokens. */
const ALWAYS_EXCLUDED = [
  parse('.slipwayignore', 'dotfile'),
  parse('.slipway', 'secret'),
  parse('.git\n.hg\n.svn', 'repository'),
]

/**
 * The rules for a folder whose `.slipwayignore` holds this text; it can include what is excluded by default, but no
 * secrets: another author may have written it.
 */
export function ignoreRules(slipwayignore: string, { dotfiles, secrets }: IncludeOptions = {}): IgnoreRules {
  return IgnoreRules.concatenate([
    ...(dotfiles ? [] : [DOTFILE_RULES]),
    TOOL_RULES,
    IgnoreRules.parse(slipwayignore, { reason: 'ignored' }),
    ...(secrets ? [] : [SECRET_RULES]),
    ...ALWAYS_EXCLUDED,
  ])
}

function parse(text: string, reason: ExclusionReason): IgnoreRules {
  return IgnoreRules.parse(text, { ignoreCase: true, reason })
}
