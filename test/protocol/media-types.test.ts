import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { EXCEPTIONS, mediaType, SNIFFED_BYTES } from '../../protocol/manifest/media-type.ts'
import { missingIndexWarning } from '../../protocol/manifest/root-document.ts'
import { mimeDb, renderTable, TABLE_FILE } from '../../scripts/media-types.ts'
import { isCompressible } from '../../server/blobs/encoding.ts'
import { isShownImage } from '../../server/edge/respond/pages/viewer-page.ts'

const TEXT = 'text/plain; charset=utf-8'
const BINARY = 'application/octet-stream'

const withoutParameters = (type: string) => type.split(';', 1)[0]!

describe('the content type of a name', () => {
  test('is that of mime-db, with at most 16 exceptions', () => {
    const typesOf = new Map<string, string[]>()
    for (const [type, { extensions = [] }] of Object.entries(mimeDb))
      for (const extension of extensions) typesOf.set(extension, [...(typesOf.get(extension) ?? []), type])
    const differing = [...typesOf].filter(
      ([extension, types]) => !types.includes(withoutParameters(mediaType(`a.${extension}`))),
    )
    assert.equal(typesOf.size, 1239)
    const names = differing.map(([extension]) => extension).sort()
    assert.deepEqual(names, Object.keys(EXCEPTIONS).sort())
    assert.ok(names.length <= 16)
  })

  test('decides about a gallery as the announcement before a publish says', () => {
    for (const { extensions = [] } of Object.values(mimeDb))
      for (const extension of extensions) {
        const paths = [`a.${extension}`, `b.${extension}`]
        const isAnnounced = missingIndexWarning(paths)?.includes('a gallery') ?? false
        assert.equal(isAnnounced, isShownImage(withoutParameters(mediaType(paths[0]!))), extension)
      }
  })

  test('is read from the table that scripts/media-types.ts writes', () => {
    assert.equal(readFileSync(TABLE_FILE, 'utf8'), renderTable())
  })

  const expected = {
    'index.html': 'text/html; charset=utf-8',
    'INDEX.HTM': 'text/html; charset=utf-8',
    'page.xhtml': 'application/xhtml+xml; charset=utf-8',
    'a/app.mjs': 'text/javascript; charset=utf-8',
    'app.cjs': 'text/javascript; charset=utf-8',
    'style.css': 'text/css; charset=utf-8',
    'logo.svg': 'image/svg+xml; charset=utf-8',
    'app.js.map': 'application/json; charset=utf-8',
    'site.webmanifest': 'application/manifest+json; charset=utf-8',
    // An XML declaration names the encoding, which a parameter would override (RFC 7303, 3.2).
    'feed.xml': 'application/xml',
    'photo.JPG': 'image/jpeg',
    'font.woff2': 'font/woff2',
    'program.wasm': 'application/wasm',
    'film.mp4': 'video/mp4',
    'live/stream.m3u8': 'application/vnd.apple.mpegurl',
    'live/manifest.mpd': 'application/dash+xml',
    'live/part.ts': 'video/mp2t',
    'wifi.mobileconfig': 'application/x-apple-aspen-config',
    '.well-known/jwks': 'application/jwk-set+json',
    'app.apk': 'application/vnd.android.package-archive',
    'site.tar.gz': 'application/gzip',
    'install.sh': TEXT,
    _redirects: TEXT,
    LICENSE: TEXT,
    '.well-known/apple-app-site-association': 'application/json',
    '.well-known/matrix/client': 'application/json',
    '.well-known/matrix/server': 'application/json',
    'site/.well-known/openid-configuration': 'application/json',
    '.well-known/oauth-authorization-server/tenant': 'application/json',
    '.well-known/webfinger': 'application/jrd+json',
    '.well-known/security.txt': TEXT,
    '.well-known/unheard-of': BINARY,
    'matrix/client': BINARY,
    'no-extension': BINARY,
    html: BINARY,
    'strange.constructor': BINARY,
    'v1.2/data': BINARY,
  }
  test('is that of its extension, of its whole name, or of its well-known URI', () => {
    for (const [path, type] of Object.entries(expected)) assert.equal(mediaType(path), type, path)
  })
})

const euro = Buffer.from('€'.repeat(SNIFFED_BYTES / 2))
const cases: [what: string, start: Buffer, type: string][] = [
  ['text', Buffer.from('#!/bin/sh\necho "Grüße"\n'), TEXT],
  ['text with a byte order mark', Buffer.from('\ufeffa'), TEXT],
  ['nothing', Buffer.alloc(0), TEXT],
  ['long text whose first bytes end within a character', euro, TEXT],
  ['short text that ends within a character', euro.subarray(0, 4), BINARY],
  ['a NUL', Buffer.from('a\0b'), BINARY],
  ['Latin-1', Buffer.from('caf\xe9 au lait', 'latin1'), BINARY],
  ['UTF-16', Buffer.from('\ufeffa', 'utf16le'), BINARY],
]
test('the content type of an unknown name is text when its first bytes are UTF-8 without a NUL, otherwise binary', () => {
  for (const [what, start, type] of cases) assert.equal(mediaType('NEWS', start), type, what)
  const late = Buffer.concat([Buffer.alloc(SNIFFED_BYTES, 'a'), Buffer.from('\0')])
  assert.equal(mediaType('NEWS', late), TEXT)
  assert.equal(mediaType('page.html', Buffer.from('\0')), 'text/html; charset=utf-8')
  assert.equal(mediaType('image.png', Buffer.from('text')), 'image/png')
})

test('all types that mime-db calls compressible have encodings, and none that it calls incompressible', () => {
  for (const [type, { compressible }] of Object.entries(mimeDb))
    if (compressible !== undefined && !type.startsWith('text/'))
      assert.equal(isCompressible(type), compressible, type)
})
