/** A header line of a message, or a pseudo-header. Names are in lower case. */
export interface Field {
  readonly name: string
  readonly value: string
  /** Bytes that it counts for, in the table and in a list (RFC 7541, 4.1). */
  readonly size: number
  /** Whether it may stand in a message at all. */
  readonly isWellFormed: boolean
}

/** What a field counts for beside its bytes. */
const OVERHEAD = 32

/** RFC 9113, 8.2.1: a token without capitals; no control characters, and no space around a value. */
const NAME = /^:?[!#$%&'*+.^`|~\w-]+$/
const CAPITAL = /[A-Z]/
const VALUE = /^(?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?$/

export function field(name: string, value: string): Field {
  return new Said(name, value)
}

/** Looked at only when somebody wants to know: a block of 16 KiB can name a long name of the table five thousand times. */
class Said implements Field {
  readonly name: string
  readonly value: string
  readonly size: number
  #isWellFormed: boolean | undefined

  constructor(name: string, value: string) {
    this.name = name
    this.value = value
    this.size = name.length + value.length + OVERHEAD
  }

  get isWellFormed(): boolean {
    this.#isWellFormed ??= NAME.test(this.name) && !CAPITAL.test(this.name) && VALUE.test(this.value)
    return this.#isWellFormed
  }
}

/** The fields that everyone knows, by their index less one (RFC 7541, appendix A). */
export const STATIC_TABLE: readonly Field[] = `
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
    return at < 0 ? field(line, '') : field(line.slice(0, at), line.slice(at + 1))
  })
