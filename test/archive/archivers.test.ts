import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { ArchiveKind } from '../../server/publish/archive/archive.ts'
import { anySeed, Random } from '../support/random.ts'
import { GIB, KIB, MIB } from '../support/units.ts'
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

describe('archives of common programs', () => {
  const site = sampleSite()

  for (const [name, kind, make] of [
    ['tar', 'tar', () => runTar('--format=gnu')],
    ['tar --format=pax', 'tar', () => runTar('--format=pax')],
    ['tar --format=ustar', 'tar', () => runTar('--format=ustar')],
    ['tar with large blocks', 'tar', () => runTar('--format=gnu', '--blocking-factor=1024')],
    ['tar -z', 'tar.gz', () => runTar('--format=gnu', '-z')],
    ['tar.gz of two members', 'tar.gz', () => edited(runTar(), inTwoMembers)],
    ['tar.gz with zeros behind it', 'tar.gz', () => edited(runTar('-z'), padded)],
    ['zip', 'zip', () => runZip()],
    ['zip -0', 'zip', () => runZip('-0')],
    ['zip with a comment', 'zip', () => edited(runZip(), commented)],
    ['zip through a pipe, with data descriptors', 'zip', () => pythonZip('pipe')],
    ['zip64', 'zip', () => pythonZip('zip64')],
  ] as [string, ArchiveKind, () => Buffer | undefined][]) {
    test(`${name} is extracted byte for byte`, async (t) => {
      const archive = make()
      if (!archive) return t.skip('the archiver is not installed')
      const { files, excluded } = await read(kind, archive)
      assert.deepEqual(digests(files), digests(site))
      assert.deepEqual(excluded, [])
    })
  }

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
        for (let round = 0; round < 10; round++) {
          const most = least + random.next() ** 4 * 100_000
          const chunks = split(archive, () => Math.floor(least + random.next() * (most - least)))
          assert.deepEqual(digests((await read(kind, toStream(chunks))).files), expected)
        }
      }
    }
  })

  function runTar(...options: string[]): Buffer | undefined {
    return runArchiver('tar', ['-c', ...options, '-C', join(folder, 'site'), '.'])
  }

  function runZip(...options: string[]): Buffer | undefined {
    const path = join(folder, `${randomBytes(6).toString('hex')}.zip`)
    const { status } = spawnSync('zip', ['-qr', ...options, path, '.'], { cwd: join(folder, 'site') })
    return status === 0 ? readFileSync(path) : undefined
  }

  function pythonZip(how: 'pipe' | 'zip64'): Buffer | undefined {
    return runArchiver('python3', ['-c', PYTHON_ZIP, join(folder, 'site'), how])
  }
})

/** A folder of a typical site with edge cases: long names, other alphabets, empty and large files. */
function sampleSite(): { path: string; bytes: Buffer }[] {
  const files = [
    ['index.html', text('<!doctype html>')],
    ['empty', text('')],
    ['assets/app.js', Buffer.alloc(100_000, 'alert(1);\n')],
    ['assets/large.bin', noise(MIB)],
    ['assets/zeros.bin', Buffer.alloc(2 * MIB + 1)],
    ['Ünïcödé/日本語.html', text('あ')],
    [`${'deep/'.repeat(20)}${'n'.repeat(60)}.txt`, text('deep')],
    ['.well-known/security.txt', text('Contact: mailto:a@example.org')],
    ['block', Buffer.alloc(512, 'b')],
  ] as [string, Buffer][]
  for (const [path, bytes] of files) {
    mkdirSync(dirname(join(folder, 'site', path)), { recursive: true })
    writeFileSync(join(folder, 'site', path), bytes)
  }
  return files.map(([path, bytes]) => ({ path, bytes }))
}

/** The output of a program, or undefined when it is not installed or does not support its options. */
function runArchiver(program: string, args: string[]): Buffer | undefined {
  const { status, stdout } = spawnSync(program, args, { maxBuffer: GIB })
  return status === 0 ? stdout : undefined
}

function edited(archive: Buffer | undefined, edit: (archive: Buffer) => Buffer): Buffer | undefined {
  return archive && edit(archive)
}

function inTwoMembers(archive: Buffer): Buffer {
  const middle = archive.length >> 1
  return Buffer.concat([gzipSync(archive.subarray(0, middle)), gzipSync(archive.subarray(middle))])
}

function padded(archive: Buffer): Buffer {
  return Buffer.concat([archive, Buffer.alloc(1000)])
}

function commented(archive: Buffer): Buffer {
  const copy = Buffer.concat([archive, text('with a comment')])
  copy.writeUInt16LE('with a comment'.length, archive.length - 2)
  return copy
}
