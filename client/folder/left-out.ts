import { IgnoreRules } from './ignore.ts'

/** Own state and history, which nothing brings back. */
const NEVER = `
.slipway
.slipwayignore
.git
.hg
.svn
`

/** What is left out unless \`.slipwayignore\` brings it back: hidden names, litter, secrets, packages. */
const BY_DEFAULT = `
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
export function leavingOut(slipwayignore: string): IgnoreRules {
  const own = IgnoreRules.parse(slipwayignore)
  return parse(BY_DEFAULT).followedBy(own).followedBy(parse(NEVER))
}

function parse(text: string): IgnoreRules {
  return IgnoreRules.parse(text, { ignoreCase: true })
}
