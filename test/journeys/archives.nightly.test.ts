import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { digestAll } from '../../client/sdk/folder/digest.ts'
import { scan } from '../../client/sdk/folder/scan.ts'
import { commonFolder } from '../../protocol/ignore/exclusions.ts'
import { type OddFolder, writeFolder } from '../cases/folders.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { requires } from '../tools/part.ts'

/** Two packages, one of which needs the other: pnpm installs links to a store, and hard links to its files. */
const PNPM = [
  'mkdir -p ../pnpm-a ../pnpm-b',
  `echo '{"name":"a","version":"1.0.0","dependencies":{"b":"file:../pnpm-b"}}' >../pnpm-a/package.json`,
  `echo '{"name":"b","version":"1.0.0"}' >../pnpm-b/package.json`,
  'echo a >../pnpm-a/a.css; echo b >../pnpm-b/b.css',
  `echo '{"private":true,"dependencies":{"a":"file:../pnpm-a"}}' >package.json`,
  'npm exec --yes --ignore-scripts --package=pnpm@10.34.9 -- pnpm install --offline --ignore-scripts --store-dir ../pnpm-store >&2',
  // A build that takes files of a package by links into the tree.
  'ln -s node_modules/a assets; ln -s node_modules/a/a.css a.css',
].join(' && ')

/** Programs that make an archive `$OUT` of the folder in which they run. */
const MAKERS: Record<string, string> = {
  'zip -r, which follows links': 'zip -qr $OUT .',
  'zip -y, with links': 'zip -qry $OUT .',
  'zip -0 of names from find': 'find . -type f | zip -q0 $OUT -@',
  'zip with data descriptors': 'zip -qr - . | cat >$OUT',
  '7-Zip': '7z a -bso0 -tzip $OUT .',
  '7-Zip without compression': '7z a -bso0 -tzip -mx=0 $OUT .',
  'bsdtar as zip': 'bsdtar -a -cf $OUT.zip . && mv $OUT.zip $OUT',
  'bsdtar as zip through a pipe, with zeros behind it': 'bsdtar --format=zip -cf - . >$OUT',
  'jar with its manifest': 'jar cf $OUT .',
  'jar without it': 'jar cMf $OUT .',
  'Python as a program': 'python3 -m zipapp . -m x:y -o $OUT -p /usr/bin/python3 && rm -f __main__.py',
  'git archive as zip':
    'git -c init.defaultBranch=m init -q . && git add -A . && git -c user.email=a@b -c user.name=a commit -qm x && git archive --format=zip --prefix=repo/ HEAD >$OUT && rm -rf .git',
  'a self-extractor with its program in front':
    'zip -qry $OUT.zip . && cat /bin/true $OUT.zip >$OUT && rm $OUT.zip',
  'a self-extractor whose offsets are adjusted':
    'zip -qry $OUT.zip . && cat /bin/true $OUT.zip >$OUT.exe && zip -qA $OUT.exe; mv $OUT.exe $OUT && rm $OUT.zip',
  'GNU tar': 'tar --format=gnu -cf $OUT .',
  'GNU tar in POSIX pax': 'tar --format=posix -cf $OUT .',
  'GNU tar in ustar': 'tar --format=ustar -cf $OUT .',
  'GNU tar in V7': 'tar --format=v7 -cf $OUT --exclude=long .',
  'GNU tar in its old format': 'tar --format=oldgnu -cf $OUT .',
  'tar -r, which repeats names':
    'echo old >sub/a.css && tar -cf $OUT ./sub && echo new >sub/a.css && tar -rf $OUT .',
  'tar -u': 'tar -cf $OUT . && echo newer >sub/a.css && touch -d "+2 hours" sub/a.css && tar -uf $OUT .',
  'tar -A, of two archives':
    'tar -cf $OUT index.html && tar -cf $OUT.2 sub long && tar -Af $OUT $OUT.2 && rm $OUT.2',
  'tar with a label': 'tar --label=site -cf $OUT .',
  'tar of an incremental backup': 'tar -g $OUT.snar -cf $OUT . && rm $OUT.snar',
  'tar -z in two members': 'tar -cf - . | (head -c 3000 | gzip; gzip) >$OUT',
  'bsdtar in pax': 'bsdtar -cf $OUT .',
  'bsdtar in gnutar': 'bsdtar --format gnutar -cf $OUT .',
  'busybox tar': 'busybox tar -cf $OUT .',
  'cpio in ustar': 'find . | cpio -o -H ustar >$OUT 2>/dev/null',
  'GNU tar with a tree of pnpm': `${PNPM} && tar -cf $OUT .`,
  'bsdtar with a tree of pnpm': `${PNPM} && bsdtar -cf $OUT .`,
  'git archive as tar.gz':
    'git -c init.defaultBranch=m init -q . && git add -A . && git -c user.email=a@b -c user.name=a commit -qm x && git archive --format=tar.gz HEAD >$OUT && rm -rf .git',
}

/** Programs that extract `$IN` into the folder in which they run. Some warn and exit with another code than 0. */
const ZIP_READERS = ['bsdtar -xf $IN', 'unzip -q $IN || true']
const TAR_READERS = ['tar -xf $IN', 'bsdtar -xf $IN']

/** Debian's unzip reads the UTF-8 names of jar, which names MS-DOS as the system, in a code page of DOS. */
function readersOf(name: string, isTar: boolean): string[] {
  if (isTar) return TAR_READERS
  return name.startsWith('jar ') ? ZIP_READERS.slice(0, 1) : ZIP_READERS
}

const FOLDER: OddFolder = {
  what: 'a folder for archives',
  isTop: true,
  files: {
    ...{ 'index.html': '<h1>x</h1>', 'sub/a.css': 'a{}', 'sub/empty.css': '', 'sub/ü ñ.txt': 'ü' },
    [`long/${'deep/'.repeat(25)}${'n'.repeat(90)}.txt`]: 'long',
    'sub/large.bin': Buffer.alloc(600_000, 'large'),
  },
  links: { 'sub/link.css': 'a.css', linked: 'sub' },
  hardLinks: { 'sub/hard.css': 'sub/a.css' },
}

describe(
  'an archive of another program is the site of the files that programs extract',
  requires('all-archivers'),
  () => {
    let service: RunningService
    let key: string
    const work = mkdtempSync(join(tmpdir(), 'slipway-archives-'))
    before(async () => {
      service = await startTestService()
      key = await service.signIn('archives@example.test')
    })
    after(async () => {
      await service[Symbol.asyncDispose]()
      rmSync(work, { recursive: true })
    })

    for (const [at, [name, command]] of Object.entries(MAKERS).entries()) {
      it(name, async () => {
        const folder = join(work, `${at}`)
        const archive = join(work, `${at}.archive`)
        writeFolder(folder, [FOLDER])
        execFileSync('sh', ['-c', command], {
          cwd: folder,
          env: { ...process.env, LC_ALL: 'C.UTF-8', OUT: archive },
        })
        const bytes = readFileSync(archive)
        const isTar = /tar|cpio/.test(name) && !name.includes('as zip')
        const type = !isTar ? 'application/zip' : bytes[0] === 0x1f ? 'application/gzip' : 'application/x-tar'
        const response = await fetch(`${service.baseUrl}/api/v1/publish`, {
          method: 'POST',
          headers: { 'content-type': type, authorization: `Bearer ${key}` },
          body: bytes,
        })
        const answer = await response.json()
        assert.equal(response.status, 201, answer.error)
        const site = await service.client(key).details(answer.slug)
        const published = site.files.map(({ path, hash }) => `${path} ${hash}`).sort()
        for (const [number, reader] of readersOf(name, isTar).entries()) {
          const extracted = join(work, `${at}-${number}`)
          mkdirSync(extracted)
          execFileSync('sh', ['-c', reader], {
            cwd: extracted,
            env: { ...process.env, LC_ALL: 'C.UTF-8', IN: archive },
            stdio: 'pipe',
          })
          const found = await digestAll(scan(extracted).files)
          const top = commonFolder(found.map(({ path }) => path))
          const expected = found.map(({ path, hash }) => `${path.slice(top.length)} ${hash}`).sort()
          assert.ok(expected.length > 3, 'files were extracted')
          assert.deepEqual(published, expected, reader)
        }
      })
    }
  },
)
