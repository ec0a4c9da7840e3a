import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { ArchiveKind } from '../../server/publish/archive/archive.ts'
import { anySeed, Random } from '../support/random.ts'
import { GIB, KIB, MIB } from '../support/units.ts'
import { requires } from '../tools/part.ts'
import { split, toStream } from './bodies.ts'
import { buildArchive, KINDS } from './build-archive.ts'
import { noise, text } from './bytes.ts'
import { digests, folder, read } from './reading.ts'

const PYTHON_ZIP = `
import os, sys, zipfile
class Pipe:
    def write(self, data): return sys.stdout.buffer.write(data)
    def flush(self): sys.stdout.buffer.flush()
root, how = sys.argv[1:]
if how == 'zip64': zipfile.ZIP64_LIMIT = 100
with zipfile.ZipFile(Pipe(), 'w', zipfile.ZIP_DEFLATED) as archive:
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            archive.write(path, os.path.relpath(path, root))
`

describe('archives of common programs', requires('archivers'), () => {
  const folderOfSite = join(folder, 'site')
  const runTar = (...options: string[]) => run('tar', ['-c', ...options, '-C', folderOfSite, '.'])
  const pythonZip = (how: 'pipe' | 'zip64') => run('python3', ['-c', PYTHON_ZIP, folderOfSite, how])
  const makers: [name: string, kind: ArchiveKind, make: () => Buffer][] = [
    ['tar', 'tar', () => runTar('--format=gnu')],
    ['tar --format=pax', 'tar', () => runTar('--format=pax')],
    ['tar --format=ustar', 'tar', () => runTar('--format=ustar')],
    ['tar with large blocks', 'tar', () => runTar('--format=gnu', '--blocking-factor=1024')],
    ['tar -z', 'tar.gz', () => runTar('--format=gnu', '-z')],
    ['tar.gz of two members', 'tar.gz', () => inTwoMembers(runTar())],
    ['tar.gz with zeros behind it', 'tar.gz', () => Buffer.concat([runTar('-z'), Buffer.alloc(1000)])],
    ['zip', 'zip', () => runZip()],
    ['zip -0', 'zip', () => runZip('-0')],
    ['zip with a comment', 'zip', () => commented(runZip())],
    ['zip through a pipe, with data descriptors', 'zip', () => pythonZip('pipe')],
    ['zip64', 'zip', () => pythonZip('zip64')],
    ['zip with zeros behind it', 'zip', () => Buffer.concat([runZip(), Buffer.alloc(1000)])],
  ]
  const site = writeSite()

  for (const [name, kind, make] of makers) {
    test(`${name} is extracted byte for byte`, async () => {
      const { files, excluded } = await read(kind, make())
      assert.deepEqual(digests(files), digests(site))
      assert.deepEqual(excluded, [])
    })
  }

  /** In a file, where zip writes the sizes before the contents. */
  function runZip(...options: string[]): Buffer {
    const path = join(folder, `site${options.join('')}.zip`)
    run('zip', ['-qr', ...options, path, '.'], { cwd: folderOfSite })
    return readFileSync(path)
  }

  /** Writes a typical site with edge cases: long names, other alphabets, empty and large files. */
  function writeSite() {
    const contents: Record<string, Buffer> = {
      'index.html': text('<!doctype html>'),
      empty: text(''),
      'assets/app.js': Buffer.alloc(100_000, 'alert(1);\n'),
      'assets/large.bin': noise(MIB),
      'assets/zeros.bin': Buffer.alloc(2 * MIB + 1),
      'Ünïcödé/日本語.html': text('あ'),
      [`${'deep/'.repeat(20)}${'n'.repeat(60)}.txt`]: text('deep'),
      '.well-known/security.txt': text('Contact: mailto:a@example.org'),
      block: Buffer.alloc(512, 'b'),
    }
    for (const [path, bytes] of Object.entries(contents)) {
      mkdirSync(dirname(join(folderOfSite, path)), { recursive: true })
      writeFileSync(join(folderOfSite, path), bytes)
    }
    return Object.entries(contents).map(([path, bytes]) => ({ path, bytes }))
  }
})

test('the chunks of the body do not matter', async (t) => {
  const random = new Random(anySeed())
  t.diagnostic(`seed ${random.seed}`)
  for (const kind of KINDS) {
    for (const [middle, least] of [
      [0, 1],
      [300 * KIB, 500],
    ] as const) {
      const files = [700, middle, 512].map((size, index) => ({ name: `f${index}`, data: noise(size) }))
      const archive = buildArchive(kind, files)
      const expected = digests((await read(kind, archive)).files)
      assert.equal(expected.size, 3)
      for (let round = 0; round < 4; round++) {
        const most = least + random.next() ** 4 * 100_000
        const chunks = split(archive, () => Math.floor(least + random.next() * (most - least)))
        assert.deepEqual(digests((await read(kind, toStream(chunks))).files), expected)
      }
    }
  }
})

/** The output of a program. */
function run(program: string, args: string[], options: { cwd?: string } = {}): Buffer {
  return execFileSync(program, args, { maxBuffer: GIB, ...options })
}

function inTwoMembers(archive: Buffer): Buffer {
  const middle = archive.length >> 1
  return Buffer.concat([gzipSync(archive.subarray(0, middle)), gzipSync(archive.subarray(middle))])
}

function commented(archive: Buffer): Buffer {
  const copy = Buffer.concat([archive, text('with a comment')])
  copy.writeUInt16LE('with a comment'.length, archive.length - 2)
  return copy
}
