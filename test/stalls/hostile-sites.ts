import { createHash } from 'node:crypto'
import { paxPart, TAR_END, tarPart } from '../archive/tar-file.ts'
import { type ZipPart, zip } from '../archive/zip-file.ts'

/** A site, as an archive, that is expensive to publish or serve for parsers of quadratic cost. */
export interface HostileSite {
  title: string
  archive(): Buffer
  /** What the error says; others may be published or refused. */
  refused?: RegExp | undefined
  /** Paths to request. */
  paths?: string[]
}

const RULES_BYTES = 2 ** 20
const HEAD_BYTES = 256 * 1024

/** Repeats lines up to the limit of a rules file. */
function lines(line: (number: number) => string, start = ''): string {
  const all: string[] = []
  let length = Buffer.byteLength(start)
  for (let number = 0; ; number++) {
    const next = `${line(number)}\n`
    length += Buffer.byteLength(next)
    if (length > RULES_BYTES) return start + all.join('')
    all.push(next)
  }
}

const long = 'a'.repeat(1980)
const names = (count: number) => Array.from({ length: count }, (_, index) => `:a${index}`).join('/')
const rules = (count: number, rule: (number: number) => string) =>
  Array.from({ length: count }, (_, number) => `${rule(number)}\n`).join('')

/** One of the spellings of one name in upper and lower case. */
const spelling = (number: number) =>
  Array.from({ length: 13 }, (_, bit) => ((number >> bit) % 2 ? 'A' : 'a')).join('')

/** Different characters. */
const unicode = (length: number, first: number) =>
  String.fromCodePoint(...Array.from({ length }, (_, index) => 0x4e00 + first + 2 * index))

// biome-ignore format: one row per case
const HEADERS: [title: string, text: string][] = [
  ['rules with thousands of lines, then paths alone', lines((n) => `/*${n}`, `/*\n${'a:b\n'.repeat(3200)}`)],
  ['99 long rules, then paths alone', lines((n) => `/${n}`, rules(99, (n) => `/${long.slice(9)}${n}/*\n A: b`))],
  ['paths of marks', lines(() => `/${'\u0301\u0323'.repeat(990)}`)],
  ['different names of hosts in Unicode', lines((n) => `https://${unicode(1900, n)}/`)],
  ['names of hosts in Unicode', lines(() => `https://${'é.'.repeat(600)}a/`)],
  ['values of placeholders', rules(100, () => `/*\n${'x: :splat\n'.repeat(30)}`)],
]

const REDIRECTS: [title: string, text: string][] = [
  ['placeholders', lines(() => `/${names(300)} /b`)],
  ['fixed rules', lines((n) => `/${n} /b`)],
  ['rules that vary', lines((n) => `/:a/:b/${n}/* /${':a/'.repeat(20)}`)],
  ['paths of marks', lines(() => `/${'\u0301\u0323'.repeat(990)} /b`)],
  ['queries', lines(() => `/a ${'a=b '.repeat(450)} /b`)],
  ['hosts of sources in Unicode', lines((n) => `http://${unicode(1900, n)}/ /b`)],
  ['hosts of targets in Unicode', lines((n) => `/${n} http://${unicode(1900, n)}/`)],
  ['circles', lines((n) => `/:a/${n}/* /:a/${n}/:splat/b 302!`)],
  ['circles of the same path', rules(100, () => '/* x=1 /:splat?x=1 302')],
  [
    'circles in other spellings',
    rules(100, (n) => `/${spelling(0)}/* /${spelling(n).replaceAll('A', '%61')}/:splat?x=1 302`),
  ],
]

const fill = (piece: string) => piece.repeat(Math.floor(HEAD_BYTES / piece.length))
const numbered = (piece: (number: number) => string, count: number) =>
  Array.from({ length: count }, (_, number) => piece(number)).join('')

// biome-ignore format: one row per case
const DOCUMENTS: [title: string, html: string][] = [
  ['a charset of spaces', `<meta http-equiv="content-type" content="charset=${' '.repeat(60_000)}">`],
  ['attributes', `<meta ${numbered((n) => `a${n} `, 40_000)}>`],
  ['attributes of the body', `<html ${numbered((n) => `a${n} `, 20_000)}><html ${numbered((n) => `b${n} `, 20_000)}>`],
  ['metas', fill('<meta name="description">')],
  ['names of a meta', `<meta name="${fill('a ')}">`],
  ['entities', fill('&notin;')],
  ['a comment', `<!--${fill('--!')}`],
  ['tables', fill('<table><tr>x')],
  ['words in a table of a template', `<template><table>${fill(' x')}`],
  ['links to icons of marks', `<link rel=icon href="/a${'\u0301'.repeat(16_000)}${'\u0323'.repeat(16_000)}">`],
  ['links to icons below a base of marks', `<base href="/a${'\u0301'.repeat(8000)}${'\u0323'.repeat(8000)}/">${'<link rel=icon href=a>'.repeat(2000)}`],
  ['links to icons below a long base', `<base href="/${'a'.repeat(131_072)}/">${'<link rel=icon href=a>'.repeat(5900)}`],
  ['attributes of icons', numbered((n) => `<link rel=icon sizes=${n}x ${numbered((at) => `${(at + 1296).toString(36)} `, 2500)}>`, 20)],
  ['sizes of icons', fill('<link rel=icon sizes=5x href=a>')],
  ['hosts of icons in Unicode', numbered((n) => `<link rel=icon href="//${unicode(5300, n)}/">`, 16)],
  ['short hosts of icons in Unicode', numbered((n) => `<link rel=icon href="//${unicode(590, n)}/">`, 140)],
  ['tags that do not end', '<meta name="a" '.repeat(140_000)],
]

/** Texts that together are scanned at a time: of each, an id and any 40 characters near it are a secret. */
const secrets = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, file) => {
      const ids = numbered((n) => `AKIA${toLetters(file * 20_000 + n)} ${n % 24 ? '' : SECRET}`, 14_000)
      return [`${file}.txt`, ids]
    }),
  )
const SECRET = `${createHash('sha256').update('a secret').digest('base64').slice(0, 40)} `
const toLetters = (number: number) =>
  createHash('sha256')
    .update(`${number}`)
    .digest('hex')
    .slice(0, 16)
    .toUpperCase()
    .replace(/[0189]/g, 'Q')

const named = (parts: Record<string, string>): Buffer =>
  zip(Object.entries(parts).map(([name, data]) => ({ name, data: Buffer.from(data) })))

const entries = (
  count: number,
  name: (number: number) => string | Buffer,
  more: Partial<ZipPart> = {},
): Buffer =>
  zip(Array.from({ length: count }, (_, number) => ({ name: name(number), data: Buffer.from('x'), ...more })))

/** Compressed data without contents: four blocks with fixed codes take five bytes (RFC 1951, 3.2.6). */
const EMPTY_BLOCKS = Buffer.alloc(50_000_000, Buffer.from([0x02, 0x08, 0x20, 0x80, 0]))

const RULE_OF_FOLDERS = { name: '.slipwayignore', data: Buffer.from(`${'**/a/'.repeat(1300)}*`) }

// biome-ignore format: one row per case
const ARCHIVES: [title: string, archive: () => Buffer, refused?: RegExp][] = [
  ['a zip of many secrets', () => named({ 'index.html': 'x', ...secrets(3) })],
  ['a zip of 5,000 names', () => entries(5000, (n) => `${n}`)],
  ['a zip of 4,000 names of backslashes', () => entries(4000, (n) => `${'a\\\\'.repeat(650)}${n}`)],
  ['a zip of many ends before zeros', () => Buffer.concat([Buffer.from('PK\x05\x06'.repeat(4825), 'latin1'), Buffer.alloc(46_256), Buffer.of(1)])],
  ['a zip of names of marks that differ in case', () => entries(1000, (n) => `${spelling(n)}${'e\u0301\u0323'.repeat(158)}`)],
  ['a zip of names of 60 kB', () => entries(100, (n) => 'a/'.repeat(30_000) + n)],
  ['a zip of names of 64 kB in an old code page', () => entries(350, () => Buffer.alloc(65_535, 0xb0))],
  ['a zip of 45,000 names in an old code page below an excluded folder', () => entries(45_000, (n) => Buffer.from(`node_modules/\x84${n}`, 'latin1'))],
  ['a zip of 45,000 names of an excluded folder in a top folder', () => entries(45_000, (n) => `site/node_modules/${n}`)],
  ['a zip of names in deep folders of their own', () => entries(999, (n) => `${n}/${'b/'.repeat(240)}a`)],
  ['a zip of hidden names in a deep folder', () => entries(3900, (n) => `${'a/'.repeat(240)}${n}/._a`), /no files to publish/],
  ['a zip of hidden names in deep folders of their own', () => entries(3900, (n) => `${n}/${'b/'.repeat(240)}._a`), /too many folders/],
  ['a zip of deep folders in hidden ones', () => entries(3900, (n) => `.${n}/${'b/'.repeat(990)}a`), /no files to publish/],
  ['a zip of hidden names of marks', () => entries(3900, (n) => `._${n}${'\u0301\u0323'.repeat(120)}`), /no files to publish/],
  ['a zip with a rule that matches hidden names in many ways', () => zip([RULE_OF_FOLDERS, ...Array.from({ length: 50 }, (_, n) => ({ name: `${n}/${'a/'.repeat(240)}._a`, data: Buffer.from('x') }))]), /patterns of .slipwayignore are too many/],
  ['a tar with a rule that matches hidden names in many ways', () => Buffer.concat([tarPart(RULE_OF_FOLDERS), tarOf(50, (n) => Buffer.concat([paxPart({ path: `${n}/${'a/'.repeat(240)}._a` }), tarPart({})]))]), /patterns of .slipwayignore are too many/],
  ['a zip with many rules for names in deep folders', () => zip([{ name: '.slipwayignore', data: Buffer.from('[a-z]\n'.repeat(1300)) }, ...Array.from({ length: 900 }, (_, n) => ({ name: `${n}/${'aa/'.repeat(160)}x`, data: Buffer.from('x') }))]), /patterns of .slipwayignore are too many/],
  ['a zip whose rules are many empty blocks', () => entries(1, () => '.slipwayignore', { size: 1, raw: EMPTY_BLOCKS })],
  ['a zip whose link is many empty blocks', () => entries(1, () => 'a', { mode: 0o120777, size: 1, raw: EMPTY_BLOCKS })],
  ['a tar of links through each other', () => tarOf(950, (n) => linkPart(n, `${'../x/'.repeat(12)}${n + 1}`))],
  ['a tar of links to a folder', () => tarOf(900, (n) => n < 450 ? tarPart({ name: `d/${n}.txt` }) : linkPart(n, '../d'))],
  ['a tar of many links with deep targets', () => tarOf(20_000, (n) => linkPart(n, `${'a/'.repeat(45)}${n}`))],
  ['a tar of links in a deep folder with deep targets', () => tarOf(79, (n) => linkPart(n, `${'漢/'.repeat(249)}b`, 'a/'.repeat(245))), /links in the archive lead to too many files/],
  ['a tar with a rule that matches in many ways', () => Buffer.concat([tarPart({ name: '.slipwayignore', data: Buffer.from(`${'*a'.repeat(250)}*b`) }), tarOf(900, longPart)])],
  ['a tar of attributes', () => tarOf(1, (n) => paxPart(Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`${n}.${i}`, 'x']))))],
  ['a tar of empty attributes', () => tarOf(22, () => tarPart({ name: 'p', type: 'x', data: Buffer.alloc(2 ** 20, '4 =\n') })), /too much metadata/],
  ['a tar of long names of slashes', () => tarOf(3, () => Buffer.concat([tarPart({ name: 'L', type: 'L', data: Buffer.alloc(2 ** 20, 'a//') }), tarPart({ type: 'V' })])), /must have at most/],
  ['a tar of long links of slashes', () => tarOf(3, () => linkPart(0, 'a//'.repeat(340_000))), /must have at most/],
]

function longPart(number: number): Buffer {
  return Buffer.concat([paxPart({ path: `${'a'.repeat(240)}${number}b` }), tarPart({})])
}

function linkPart(number: number, linkName: string, folder = 'x/'): Buffer {
  const long = paxPart({ path: `${folder}${number}`, linkpath: linkName })
  return Buffer.concat([long, tarPart({ type: '2', data: Buffer.alloc(0) })])
}

function tarOf(count: number, part: (number: number) => Buffer): Buffer {
  return Buffer.concat([...Array.from({ length: count }, (_, number) => part(number)), TAR_END])
}

const VISITED = [
  '/',
  '/a/b',
  `/${'a/'.repeat(3500)}`,
  `/a?${'q1=b&'.repeat(1500)}`,
  `/a/${'%CC%81'.repeat(1200)}/b`,
  `/${'%2f'.repeat(2600)}?x=1`,
  `/${spelling(0)}/${'/%2f'.repeat(1900)}?x=1`,
]

/** Combines a document, `_headers` and `_redirects` in one site, for fewer publications. */
const DOCUMENT_SITES: HostileSite[] = DOCUMENTS.map(([document, html], index) => {
  const parts: Record<string, string> = { 'index.html': html }
  const titles = [`a document: ${document}`]
  for (const [name, rows] of Object.entries({ _headers: HEADERS, _redirects: REDIRECTS })) {
    const row = rows[index]
    if (row === undefined) continue
    parts[name] = row[1]
    titles.push(`${name}: ${row[0]}`)
  }
  return { title: titles.join('; '), archive: () => named(parts), paths: titles.length > 1 ? VISITED : ['/'] }
})

export const HOSTILE_SITES: HostileSite[] = [
  ...DOCUMENT_SITES,
  ...ARCHIVES.map(([title, archive, refused]) => ({ title, archive, refused, paths: ['/'] })),
]
