import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { decodeZipNames } from '../../protocol/folder/zip-names.ts'

const MS_DOS = 0
const UNIX = 3

// The bytes are those of Python's codecs, as programs of these systems write them.
const LEGACY: [name: string, codePage: string, bytes: string, system?: number][] = [
  ['café.html', 'cp437', '636166822e68746d6c'],
  ['Straße/Äpfel.txt', 'cp437', '53747261e1652f8e7066656c2e747874'],
  ['Øre Á.txt', 'cp850', '9d726520b52e747874'],
  ['café.html', 'windows-1252', '636166e92e68746d6c', UNIX],
  ['Привет мир.txt', 'ibm866', '8fe0a8a2a5e220aca8e02e747874'],
  ['привет мир.txt', 'windows-1251', 'eff0e8e2e5f220ece8f02e747874'],
  ['テスト.html', 'shift_jis', '8365835883672e68746d6c'],
  ['首页/图片.png', 'gbk', 'cad7d2b32fcdbcc6ac2e706e67'],
  ['한글문서.html', 'euc-kr', 'c7d1b1dbb9aebcad2e68746d6c'],
]

it('names of a zip are read in the code page in which they are words, and the notes name it', async () => {
  for (const [name, codePage, bytes, system = MS_DOS] of LEGACY) {
    const entries = [Buffer.from(bytes, 'hex'), Buffer.from('index.html')]
    const given = entries.map((bytes) => ({ bytes, unicode: undefined, system }))
    const { names, notes } = await decodeZipNames(given, setImmediate)
    assert.deepEqual(names, [name, 'index.html'])
    assert.deepEqual(notes, [
      `The names in the archive are not UTF-8. They were read in the code page ${codePage}.`,
    ])
  }
})

it('backslashes in the names of a zip separate folders when no name has both, and the notes say so', async () => {
  const decode = (...names: string[]) =>
    decodeZipNames(
      names.map((name) => ({ bytes: Buffer.from(name), unicode: undefined, system: MS_DOS })),
      setImmediate,
    )
  assert.deepEqual(await decode('index.html', 'css\\app.css', 'img\\'), {
    names: ['index.html', 'css/app.css', 'img/'],
    notes: ['Backslashes in the names of the archive were read as folders.'],
  })
  assert.deepEqual(await decode('a/b\\c', 'd\\e'), { names: ['a/b\\c', 'd\\e'], notes: [] })
})
