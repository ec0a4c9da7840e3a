import { toHostName } from '../../packages/http-server/host-name.ts'
import { invalidField } from '../lib/errors.ts'

/** Their mailboxes ignore dots in the local part; several names may be one provider. */
const DOTLESS_DOMAINS = new Map([
  ['gmail.com', 'gmail.com'],
  ['googlemail.com', 'gmail.com'],
])

/** Unicode category C, and others that nothing shows, such as fillers and variation selectors. */
const INVISIBLE = /[\p{C}\p{Default_Ignorable_Code_Point}]/u

/** Trimmed, lower case, the domain in A-labels, as mail servers get it. VALIDATION_ERROR when it is not valid. */
export function readEmail(typed: string): string {
  const email = typed.trim().toLowerCase().normalize('NFC')
  if (INVISIBLE.test(email))
    throw invalidField(
      'email',
      'must not contain control characters, invisible characters or text-direction marks',
    )
  const [, local, given = ''] = /^([^\s@<>"(),:;[\]\\]{1,64})@([^\s@]{1,253})$/.exec(email) ?? []
  const domain = toHostName(given)
  // A last label of digits is an IPv4 address to `domainToASCII`.
  if (
    local === undefined ||
    // Mail servers refuse these (RFC 5321, 4.1.2).
    /^\.|\.\.|\.$/.test(local) ||
    !domain ||
    !/\.(?!\d+$)[^.]+$/.test(domain) ||
    local.length + domain.length > 253
  )
    throw invalidField('email', 'must be an email address such as name@example.com')
  return `${local}@${domain}`
}

/** Without a `+tag`, and without dots where the provider ignores them. For limits on mail only, not for accounts. */
export function toMailbox(email: string): string {
  const at = email.lastIndexOf('@')
  const [local, domain] = [email.slice(0, at), email.slice(at + 1)]
  // A leading plus is part of the name.
  const tag = local.indexOf('+', 1)
  const name = tag < 0 ? local : local.slice(0, tag)
  const dotless = DOTLESS_DOMAINS.get(domain)
  return dotless ? `${name.replaceAll('.', '')}@${dotless}` : `${name}@${domain}`
}
