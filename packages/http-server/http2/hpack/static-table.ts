const ENTRY_OVERHEAD_BYTES = 32

/** RFC 9113, 8.2.1: a token without capitals; no control characters, and no whitespace around a value. */
const NAME_PATTERN = /^:?[!#$%&'*+.^`|~\w-]+$/
const CAPITAL = /[A-Z]/
const VALUE_PATTERN = /^(?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?$/

/**
 * A header field or pseudo-header, with a name in lower case. Validated lazily: a block of 16 KiB can reference a long
 * name of the table five thousand times.
 */
export class HeaderField {
  readonly name: string
  readonly value: string
  /** Its size in the table and in a list (RFC 7541, 4.1). */
  readonly size: number
  #isWellFormed: boolean | undefined

  constructor(name: string, value: string) {
    this.name = name
    this.value = value
    this.size = name.length + value.length + ENTRY_OVERHEAD_BYTES
  }

  get isWellFormed(): boolean {
    this.#isWellFormed ??=
      NAME_PATTERN.test(this.name) && !CAPITAL.test(this.name) && VALUE_PATTERN.test(this.value)
    return this.#isWellFormed
  }
}

/** The static table, by index minus one (RFC 7541, appendix A). */
export const STATIC_TABLE: readonly HeaderField[] = `
:authority
:method GET
:method POST
:path /
:path /index.html
:scheme http
:scheme https
:status 200
:status 204
:status 206
:status 304
:status 400
:status 404
:status 500
accept-charset
accept-encoding gzip, deflate
accept-language
accept-ranges
accept
access-control-allow-origin
age
allow
authorization
cache-control
content-disposition
content-encoding
content-language
content-length
content-location
content-range
content-type
cookie
date
etag
expect
expires
from
host
if-match
if-modified-since
if-none-match
if-range
if-unmodified-since
last-modified
link
location
max-forwards
proxy-authenticate
proxy-authorization
range
referer
refresh
retry-after
server
set-cookie
strict-transport-security
transfer-encoding
user-agent
vary
via
www-authenticate`
  .trim()
  .split('\n')
  .map((line) => {
    const at = line.indexOf(' ')
    return at < 0 ? new HeaderField(line, '') : new HeaderField(line.slice(0, at), line.slice(at + 1))
  })
