import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SiteKind } from '../../protocol/api/sites.schema.ts'
import { describeSite } from '../../server/publish/describe-version.ts'
import { summarizeDocument } from '../../server/sites/page-metadata/document-head.ts'
import { toManifest } from '../api/content.ts'

/** The preview of a site with these files, each of one byte. */
const describePaths = (...paths: string[]) =>
  describeSite(toManifest(Object.fromEntries(paths.map((path) => [path, 'x']))))

const kinds: [kind: SiteKind, paths: string[]][] = [
  ['page', ['index.html']],
  ['page', ['a.jpg', 'b.jpg', 'c.jpg', 'about/page.html']],
  ['page', ['page.xhtml']],
  ['image', ['cat.jpg']],
  ['image', ['a.jpg', 'b.png', 'c.webp', 'readme.txt']],
  ['video', ['film.mp4']],
  ['video', ['film.mp4', 'trailer.webm', 'poster.jpg']],
  ['audio', ['one.mp3', 'two.ogg']],
  ['document', ['paper.pdf']],
  ['document', ['notes.txt', 'read.md', 'table.xlsx', 'logo.png']],
  ['files', ['archive.zip']],
  ['files', ['style.css', 'script.js']],
  ['files', ['a.jpg', 'film.mp4']],
  ['files', ['_redirects']],
  ['image', ['cat.jpg', '_headers', '_redirects']],
]
test('the kind of a site is that of most files, or page if it has pages', () => {
  for (const [kind, paths] of kinds) assert.equal(describePaths(...paths).kind, kind, paths.join())
})

const images: [image: string | null, paths: string[]][] = [
  [null, ['index.html', 'style.css']],
  ['favicon.svg', ['index.html', 'favicon.svg', 'favicon.ico', 'logo.png']],
  ['apple-touch-icon.png', ['favicon.svg', 'apple-touch-icon.png', 'index.html']],
  ['apple-touch-icon-180x180.png', ['index.html', 'apple-touch-icon-180x180.png']],
  ['favicon-32x32.png', ['index.html', 'favicon.ico', 'favicon-32x32.png']],
  ['icon.png', ['index.html', 'icon.png', 'logo.svg']],
  ['Logo.PNG', ['index.html', 'Logo.PNG', 'photo.jpg']],
  ['favicon.ico', ['index.html', 'favicon.ico', 'photo.jpg']],
  [null, ['index.html', 'assets/favicon.svg', 'blog/logo.png']],
  [null, ['index.html', 'photo.jpg']],
  ['photo.jpg', ['photo.jpg']],
  ['deep/in/a folder/photo.jpg', ['deep/in/a folder/photo.jpg', '_headers']],
  [null, ['one.jpg', 'two.jpg']],
  [null, ['film.mp4']],
]
test('the image of a site is its icon or its only image', () => {
  for (const [image, paths] of images) assert.equal(describePaths(...paths).image, image, paths.join())
})

test('a file named as an icon without an image type is not one', () => {
  const files = [{ path: 'favicon.png', size: 1, contentType: 'text/html', hash: 'x' }]
  assert.deepEqual(describeSite(files), { kind: 'page', image: null, icon: null })
})

// biome-ignore format: one row per case
const documents: [document: string | Buffer, title: string | null, ...icons: string[]][] = [
  ['<title>\n Caf&eacute; &amp;\t\u202E<b>Bar </title>', 'Café & <b>Bar'],
  [`<title>${'🥖'.repeat(300)}</title>`, '🥖'.repeat(200)],
  [Buffer.from('\uFEFF<title>日本</title>', 'utf16le'), '日本'],
  ['<body><svg><title>S</title></svg><title>B</title>', null],
  [`<script>${' x'.repeat(30_000)}</script><title>In reach</title>`, 'In reach'],
  [`<template><table>${' x'.repeat(50_000)}</table></template><title>Beyond</title>`, null],
  [`<template><table>${'\0 '.repeat(50_000)}</table></template><title>Beyond</title>`, null],
  ['<!--<title>C</title>--><script>"<title>S</title>"</script>', null],
  ['<link rel="shortcut icon" href=/favicon.ico><link rel=apple-touch-icon href="a/%C3%A4 b.png">', null, 'a/ä b.png', 'favicon.ico'],
  ['<base href=/img/><link rel=icon href=big.svg>', null, 'img/big.svg'],
  ['<link rel=icon href=//evil.example/a.svg><link rel=icon href=https:a.svg><link rel=icon href=%E4>', null],
]
test('the title of a document is one line of text, and its icons are paths of the site, the largest first', () => {
  for (const [document, title, ...icons] of documents) {
    const summary = summarizeDocument(Buffer.from(document), 'text/html', 'index.html')
    assert.deepEqual(summary, { title, icons }, String(document))
  }
})
