import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { UNLIMITED } from '../../protocol/format.ts'
import { separateEmpty } from '../../protocol/manifest/empty-files.ts'
import { caseCollisions, validateFolder } from '../../protocol/manifest/folder.ts'
import { validateManifest } from '../../protocol/manifest/manifest.ts'
import { mediaType } from '../../protocol/manifest/media-type.ts'

describe('files that the service would refuse', () => {
  const found = (...names: string[]) =>
    names.map((local) => ({ path: local.normalize('NFC'), local, size: 1 }))

  it('1,000 files are accepted and 1,001 are refused with the largest folders named', () => {
    const many = (count: number) => found(...Array.from({ length: count }, (_, at) => `img/${at}.png`))
    const limits = { files: 1000, fileBytes: UNLIMITED, siteBytes: UNLIMITED }
    assert.deepEqual(validateFolder(many(1000), limits), [])
    assert.deepEqual(validateFolder(many(1001), limits), [
      '1,001 files. The limit is 1,000 per site (img/ has 1,001).',
    ])
  })

  it('a path of 500 characters is accepted and one of 501 is refused', () => {
    assert.deepEqual(validateFolder(found('é'.repeat(500))), [])
    const [sentence] = validateFolder(found('é'.repeat(501)))
    assert.match(sentence!, /^é+\.\.\.: must have at most 500 characters, not 501$/)
  })

  it('backslashes and control characters are reported', () => {
    assert.equal(validateFolder(found('a\\b.txt', 'a\nb.txt', 'fine.txt')).length, 2)
  })

  it('paths that are equal in NFC are reported with their code points', () => {
    const sentence = 'café occurs 2 times, written in different Unicode forms: caf\\u{e9} and cafe\\u{301}'
    assert.deepEqual(validateFolder(found('caf\u00e9', 'cafe\u0301')), [sentence])
  })

  it('names that differ only in case cause a warning', () => {
    assert.deepEqual(validateFolder(found('A.txt', 'a.txt')), [])
    const cases: [paths: string[], collisions: string[]][] = [
      [['A.txt', 'a.txt'], ['A.txt and a.txt']],
      [['a/X', 'a/x', 'a/y', 'b/X'], ['a/X and a/x']],
      [['Img/a.png', 'b.txt', 'img/A.png', 'img/deep/c.png'], ['Img and img']],
      [['IMG', 'img.txt', 'img/a.png'], ['IMG and img']],
      [['E\u0301', '\u00e9'], ['E\u0301 and \u00e9']],
      [['s', '\u017f'], ['s and \u017f']],
      [
        ['a', 'A', 'a.b', 'A.b'],
        ['A.b and a.b', 'A and a'],
      ],
      [['ab', 'a/b', 'Ac'], []],
    ]
    for (const [paths, collisions] of cases)
      assert.deepEqual(
        caseCollisions(found(...paths)),
        collisions.map((names) => `${names} differ only in case`),
      )
  })

  it('are the same in a folder and in the manifest of its files', () => {
    const limits = { files: 3, fileBytes: 10, siteBytes: 25 }
    const sizes = [0, 1, 10, 11]
    const invalid = ['/a', 'a/', 'a//b', './a', 'a/../b', 'a\\b', 'a\tb', 'a\u0000', 'a\ud83d', '']
    const names = ['a', 'a/b', 'caf\u00e9', 'cafe\u0301', 'é'.repeat(501), ...invalid]
    for (const first of names) {
      for (const second of names) {
        for (const size of sizes) {
          const files = found(first, second).map((file) => ({ ...file, size }))
          const entries = files.map((file) => ({ ...file, contentType: mediaType(file.path) }))
          assert.equal(
            validateFolder(files, limits).length === 0,
            validateManifest(separateEmpty(entries), limits, 0).length === 0,
            JSON.stringify([first, second, size]),
          )
        }
      }
    }
  })

  it('are listed up to ten of a kind', () => {
    const lines = validateFolder(found(...Array.from({ length: 15 }, (_, at) => `a\\${at}`)))
    assert.equal(lines.length, 11)
    assert.equal(lines.at(-1), 'and 5 more')
  })
})
