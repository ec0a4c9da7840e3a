import type { Case } from './hygiene-cases.ts'

// Bodies with ambiguous length, each with a request hidden where one interpretation would find it (request smuggling).

type Row = readonly [what: string, lines: string]

/** Sites and most API paths refuse a body, perhaps before reading it. */
const UNWANTED = [400, 404, 405, 413, 415]
const REFUSED = [400, 404, 405, 411, 413, 431, 501]

/** Empty when read as chunks; hides a request when read by Content-Length. */
const HIDING = '0\r\n\r\n{hidden}'

function post(lines: string, body: string, version = '1.1'): string {
  return `POST {path} HTTP/${version}\r\nHost: {host}\r\n${lines}\r\n\r\n${body}`
}

/** The length is ambiguous: nothing after the head may be read. */
// biome-ignore format: one row per case
const CODINGS: Row[] = [
  ['chunks and a length', 'Transfer-Encoding: chunked\r\nContent-Length: 4'],
  ['a length and chunks', 'Content-Length: 4\r\nTransfer-Encoding: chunked'],
  ['chunks and a length of nothing', 'Transfer-Encoding: chunked\r\nContent-Length: 0'],
  ['chunks within chunks', 'Transfer-Encoding: chunked, chunked'],
  ['chunks in two lines', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked'],
  ['an unknown coding', 'Transfer-Encoding: unknown'],
  ['an unknown coding and a length', 'Transfer-Encoding: unknown\r\nContent-Length: 4'],
  ['a coding that begins alike', 'Transfer-Encoding: chunkedx'],
  ['a coding that ends alike', 'Transfer-Encoding: xchunked'],
  ['half a coding', 'Transfer-Encoding: chunk'],
  ['a space within the coding', 'Transfer-Encoding: chun ked'],
  ['identity', 'Transfer-Encoding: identity'],
  ['identity after chunks', 'Transfer-Encoding: chunked, identity'],
  ['gzip after chunks', 'Transfer-Encoding: chunked, gzip'],
  ['chunks, and an unknown coding in another line', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: unknown'],
  ['a coding with a quality', 'Transfer-Encoding: chunked;q=1'],
  ['a coding in quotes', 'Transfer-Encoding: "chunked"'],
  ['no coding', 'Transfer-Encoding:'],
  ['no coding and a length', 'Transfer-Encoding:\r\nContent-Length: 4'],
  ['a vertical tab before the coding', 'Transfer-Encoding:\x0bchunked'],
  ['NUL after the coding', 'Transfer-Encoding: chunked\0'],
  ['a space before its colon', 'Transfer-Encoding : chunked'],
  ['a tab before its colon', 'Transfer-Encoding\t: chunked'],
  ['a space before its name', 'X: y\r\n Transfer-Encoding: chunked\r\nContent-Length : 4'],
  ['its name after a bare LF', 'X: y\nTransfer-Encoding: chunked'],
  ['its name after a bare CR', 'X: y\rTransfer-Encoding: chunked'],
  ['a bare LF after it', 'Transfer-Encoding: chunked\nX: y'],
  ['chunks and a folded length', 'Transfer-Encoding: chunked\r\nContent-Length:\r\n 4'],
]

const LENGTHS: Row[] = [
  ['two lengths', 'Content-Length: 4\r\nContent-Length: 5'],
  ['two lengths in one line', 'Content-Length: 4, 5'],
  ['a length with a plus', 'Content-Length: +4'],
  ['a length below nothing', 'Content-Length: -4'],
  ['a length in hexadecimal digits', 'Content-Length: 0x4'],
  ['a length with a fraction', 'Content-Length: 4.0'],
  ['a length with an exponent', 'Content-Length: 4e0'],
  ['a length with letters', 'Content-Length: 4a'],
  ['a length with a space', 'Content-Length: 4 4'],
  ['a length in quotes', 'Content-Length: "4"'],
  ['no length', 'Content-Length:'],
  ['a length beyond all numbers', `Content-Length: ${'9'.repeat(40)}`],
  ['a length just beyond 64 bits', 'Content-Length: 18446744073709551620'],
  ['a length with a space before its colon', 'Content-Length : 4'],
  ['a length after a bare LF', 'X: y\nContent-Length: 4'],
  ['a length with NUL', 'Content-Length: 4\0'],
  ['a length and then a bare LF', 'Content-Length: 4\n'],
]

const CHUNKS: Row[] = [
  ['a size that is no number', 'g\r\nabcd\r\n0\r\n\r\n'],
  ['a size below nothing', '-4\r\nabcd\r\n0\r\n\r\n'],
  ['a size with a plus', '+4\r\nabcd\r\n0\r\n\r\n'],
  ['a size with 0x', '0x4\r\nabcd\r\n0\r\n\r\n'],
  ['a size after a space', ' 4\r\nabcd\r\n0\r\n\r\n'],
  ['no size', '\r\nabcd\r\n0\r\n\r\n'],
  ['a size beyond 64 bits', '10000000000000004\r\nabcd\r\n0\r\n\r\n'],
  ['a size of ones beyond all numbers', `${'f'.repeat(60)}\r\nabcd\r\n0\r\n\r\n`],
  ['a size that a bare LF ends', '4\nabcd\r\n0\r\n\r\n'],
  ['a size that a bare CR ends', '4\rabcd\r\n0\r\n\r\n'],
  ['a size and other letters', '4x\r\nabcd\r\n0\r\n\r\n'],
  ['a chunk longer than its size', '4\r\nabcdefgh\r\n0\r\n\r\n'],
  ['a chunk without its line end', '4\r\nabcd0\r\n\r\n'],
  ['a chunk that a bare LF ends', '4\r\nabcd\n0\r\n\r\n'],
  ['a chunk that a bare CR ends', '4\r\nabcd\r0\r\n\r\n'],
  ['an extension with a bare LF', '4;a\nb\r\nabcd\r\n0\r\n\r\n'],
  ['an extension with a bare CR', '4;a\rb\r\nabcd\r\n0\r\n\r\n'],
  ['an extension with NUL', '4;a=\0\r\nabcd\r\n0\r\n\r\n'],
  ['an extension without an end', `4;a=${'b'.repeat(100_000)}`],
  ['a last chunk that a bare LF ends', '0\n\n'],
  ['trailers with a space before a colon', '0\r\nX : y\r\n\r\n'],
  ['trailers with a bare LF', '0\r\nX: y\nZ: y\r\n\r\n'],
  ['trailers without an end', `0\r\n${'X: y\r\n'.repeat(20_000)}`],
]

/** Bodies with an unambiguous end. */
// biome-ignore format: one row per case
const WHOLE: Row[] = [
  ['a length', post('Content-Length: {length}', '{hidden}')],
  ['a length with zeros before it', post('Content-Length: 000{length}', '{hidden}')],
  ['a GET with a length', `GET {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n{hidden}`],
  ['a HEAD with a length', `HEAD {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n{hidden}`],
  ['an OPTIONS with a length', `OPTIONS {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n{hidden}`],
  ['a DELETE with a length', `DELETE {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n{hidden}`],
  ['chunks', post('Transfer-Encoding: chunked', '{size}\r\n{hidden}\r\n0\r\n\r\n')],
  ['chunks in mixed case', post('Transfer-Encoding: cHuNkEd', '{size}\r\n{hidden}\r\n0\r\n\r\n')],
  ['a size with zeros before it', post('Transfer-Encoding: chunked', '0000{size}\r\n{hidden}\r\n0\r\n\r\n')],
  ['an extension', post('Transfer-Encoding: chunked', '{size};a=b;c="d e"\r\n{hidden}\r\n0;last\r\n\r\n')],
  ['trailers', post('Transfer-Encoding: chunked', '{size}\r\n{hidden}\r\n0\r\nX: y\r\nHost: other\r\n\r\n')],
  ['a GET with chunks', 'GET {path} HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n{size}\r\n{hidden}\r\n0\r\n\r\n'],
  ['an expected body', post('Expect: 100-continue\r\nContent-Length: {length}', '{hidden}')],
  ['an expected GET', `GET {path} HTTP/1.1\r\nHost: {host}\r\nExpect: 100-continue\r\nContent-Length: {length}\r\n\r\n{hidden}`],
  ['the same length twice', post('Content-Length: {length}\r\nContent-Length: {length}', '{hidden}')],
  ['the same length twice in one line', post('Content-Length: {length}, {length}', '{hidden}')],
  ['gzip, and then chunks', post('Transfer-Encoding: gzip, chunked', '{size}\r\n{hidden}\r\n0\r\n\r\n')],
]

export function bodyCases(): Case[] {
  const refused = (kind: string, rows: Row[], bytes: (text: string) => string) =>
    rows.map(
      ([what, text]): Case => ({
        what: `${kind}: ${what}`,
        bytes: bytes(text),
        statuses: REFUSED,
        connection: 'closes',
      }),
    )
  return [
    ...refused('a body', CODINGS, (lines) => post(lines, HIDING)),
    ...refused('a GET', CODINGS.slice(0, 8), (lines) => post(lines, HIDING).replace('POST', 'GET')),
    ...refused('HTTP/1.0', CODINGS.slice(0, 4), (lines) => post(lines, HIDING, '1.0')),
    ...refused('HTTP/1.0', [['chunks', 'Transfer-Encoding: chunked']], (lines) => post(lines, HIDING, '1.0')),
    ...refused('a body', LENGTHS, (lines) => post(lines, '{hidden}')),
    ...refused('a body', CHUNKS, (body) => post('Transfer-Encoding: chunked', `${body}{hidden}`)),
    ...WHOLE.map(
      ([what, bytes]): Case => ({
        what: `a body: ${what}`,
        bytes,
        statuses: [200, 204, 417, 501, ...UNWANTED],
        connection: 'either',
      }),
    ),
  ]
}
