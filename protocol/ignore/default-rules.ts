import { formatLimit, formatNumber } from '../format.ts'
import { type ExclusionReason, IgnoreRules } from './ignore-rules.ts'

/** The file at the top of a folder with the rules of its author. */
export const IGNORE_FILE = '.slipwayignore'
export const MAX_IGNORE_BYTES = 32 * 1024
/** Maximum number of characters of its patterns together: matching takes this times the length of each path. */
const MAX_PATTERN_CHARACTERS = 4096

/** A `.slipwayignore` that is not applied, and why. */
export class IgnoreFileError extends Error {}

/** In a pattern: what text of another encoding, such as UTF-16, is read as. It would exclude nothing. */
const NO_TEXT = /^(?!#).*[\0\uFFFD]/m

/** The error for a `.slipwayignore` that is a link to elsewhere, something else than a file, or too large. */
export function invalidIgnoreFile(path: string): IgnoreFileError {
  return new IgnoreFileError(
    `${path} is not a file in this folder of at most ${formatLimit(MAX_IGNORE_BYTES)}`,
  )
}

/** The folder of the command's state, which no list of what is left out needs to name. */
export const STATE_FOLDER = '.slipway'

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

const REPOSITORIES = '.git\n.hg\n.svn'

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
  parse(IGNORE_FILE, 'dotfile'),
  parse(STATE_FOLDER, 'secret'),
  parse(REPOSITORIES, 'repository'),
]

/** The patterns of names that are left out by default, in lower case and without a slash. */
export const EXCLUDED_NAMES = {
  secrets: SECRETS.trim().split('\n'),
  repositories: REPOSITORIES.split('\n'),
  system: SYSTEM_FILES.trim().toLowerCase().split('\n'),
}

/**
 * The rules for a folder whose `.slipwayignore` holds this text; it can include what is excluded by default, but no
 * secrets: another author may have written it. Throws an IgnoreFileError when its patterns are too long or no UTF-8.
 */
export function ignoreRules(slipwayignore: string, { dotfiles, secrets }: IncludeOptions = {}): IgnoreRules {
  if (NO_TEXT.test(slipwayignore)) throw new IgnoreFileError(`${IGNORE_FILE} is not UTF-8; save it as UTF-8`)
  const own = IgnoreRules.parse(slipwayignore, { reason: 'ignored' })
  if (own.patternLength > MAX_PATTERN_CHARACTERS)
    throw new IgnoreFileError(
      `The patterns of ${IGNORE_FILE} may have at most ${formatNumber(MAX_PATTERN_CHARACTERS)} characters together`,
    )
  return IgnoreRules.concatenate([
    ...(dotfiles ? [] : [DOTFILE_RULES]),
    TOOL_RULES,
    own,
    ...(secrets ? [] : [SECRET_RULES]),
    ...ALWAYS_EXCLUDED,
  ])
}

function parse(text: string, reason: ExclusionReason): IgnoreRules {
  return IgnoreRules.parse(text, { ignoreCase: true, reason })
}
