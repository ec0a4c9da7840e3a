import { IgnoreRules } from './ignore-rules.ts'

/** State and history, always excluded. */
const ALWAYS_IGNORED = `
.slipway
.slipwayignore
.git
.hg
.svn
`

/** Excluded unless `.slipwayignore` includes them: hidden names, junk files, secrets, packages. */
const DEFAULT_PATTERNS = `
.*
!.well-known
node_modules
__MACOSX
Thumbs.db
desktop.ini
*~
*.swp
*.swo
\\#*#
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

/** The rules for a folder whose \`.slipwayignore\` holds this text. */
export function ignoreRules(slipwayignore: string): IgnoreRules {
  const own = IgnoreRules.parse(slipwayignore)
  return parse(DEFAULT_PATTERNS).followedBy(own).followedBy(parse(ALWAYS_IGNORED))
}

function parse(text: string): IgnoreRules {
  return IgnoreRules.parse(text, { ignoreCase: true })
}
