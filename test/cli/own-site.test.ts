import assert from 'node:assert/strict'
import { once } from 'node:events'
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'
import { readTar } from '../../client/cli/folder/read-tar.ts'
import { concat, padding, TAR_END, tarHeader } from '../../protocol/tar.ts'
import { sha256 } from '../api/content.ts'
import { startForEachTest } from '../support/started-fixture.ts'
import { requires } from '../tools/part.ts'
import { mountSmallDisk } from '../tools/small-disk.ts'
import { CliHarness } from './cli-harness.ts'
import { KEY, startScriptedCli } from './scripted-cli.ts'

const DETAILS = 'GET /api/v1/publish/otter'
const DELETE = 'DELETE /api/v1/publish/otter'
const VERSIONS = 'GET /api/v1/publish/otter/versions'
const PREVIEW = 'POST /api/v1/publish/otter/claim/preview'
const CLAIM = 'POST /api/v1/publish/otter/claim'
const SIGN_IN = ['ann@example.test', 'ABCD-EFGH']
const keyed = { env: { SLIPWAY_KEY: KEY } }

const draft = {
  versionId: 'v2',
  createdAt: '2030-01-02T00:00:00.000Z',
  publishedAt: null as string | null,
  fileCount: 2,
  totalBytes: 9,
  current: false,
  previewUrl: 'http://v2--otter.sites.test/',
}

describe('the site of this folder', () => {
  const fixture = startForEachTest(() =>
    startScriptedCli({
      'POST /api/v1/publish/otter/versions/v2/restore': {
        versionId: 'v2',
        siteUrl: 'http://otter.sites.test/',
        warnings: [{ file: '_redirects', line: 3, message: 'has no target' }],
      },
      [DELETE]: { slug: 'otter', deleted: true, deletedUntil: '2026-12-22T16:04:11.000Z' },
      'DELETE /api/v1/publish/otter?permanent=true': { slug: 'otter', deleted: true, deletedUntil: null },
      'GET /api/v1/publish/badger': { siteUrl: 'http://badger.sites.test/' },
      [DETAILS]: { siteUrl: 'http://otter.sites.test/', restorable: true },
      [PREVIEW]: { slug: 'otter', claimed: false, siteUrl: 'http://otter.sites.test/' },
      [CLAIM]: { success: true, slug: 'otter', siteUrl: 'http://otter.sites.test/' },
    }),
  )

  it('versions lists the live version and drafts, with the publisher and the changes of each', async () => {
    const counts = (added: number, changed: number, removed: number) => ({ added, changed, removed })
    const cases: [by: string | null, made: string | null, changes: object | null, words: RegExp][] = [
      [
        'ann@example.test',
        'key',
        counts(1, 2, 3),
        /ann@example.test, with a key \(my-tool\/1\.0\) +1 new, 2 changed, 3 removed /,
      ],
      [
        'ann@example.test',
        'dashboard',
        counts(0, 0, 1000),
        /ann@example.test, from the browser +1,000 removed /,
      ],
      [null, 'key', counts(0, 0, 0), /a deleted account +none /],
      [null, 'anonymous', null, /anonymous +– /],
    ]
    const made = cases.map(([publishedBy, publishedWith, changes]) => {
      return { ...draft, publishedBy, publishedWith, publishedClient: 'my-tool/1.0', changes }
    })
    const live = { ...draft, versionId: 'v1', publishedAt: draft.createdAt, current: true }
    fixture.responses[VERSIONS] = { versions: [...made, draft, live] }
    fixture.remember('otter')
    const { stdout, stderr } = await fixture.cli.run(['versions', '--long'], keyed)
    const lines = stdout.split('\n').slice(1)
    for (const [row, [, , , words]] of cases.entries()) assert.match(lines[row]!, words)
    assert.match(lines[4]!, /^v2 +draft +2 Jan, 01:00 +– +– +2 +9 bytes +http:\/\/v2--otter/)
    assert.match(lines[5]!, /^v1 +live /)
    assert.match(stderr, /slipway restore VERSION/)
  })

  it('versions fits into a terminal, with ids that name one version', async () => {
    const ids = ['01m8bt88xvvpzm5qb9db8de6gn', '01m8bt88xvaaaaaaaaaaaaaaaa', '01m8bt99aaaaaaaaaaaaaaaaaa']
    const found = ids.map((versionId) => {
      return {
        ...draft,
        versionId,
        publishedBy: 'ann@example.test',
        publishedWith: 'key',
        publishedClient: 'a/1',
      }
    })
    fixture.responses[VERSIONS] = { versions: found }
    fixture.remember('otter')
    const { stdout } = await fixture.cli.run(['versions'], keyed)
    const lines = stdout.trimEnd().split('\n')
    const prefixes = lines.slice(1).map((line) => line.slice(0, 12))
    assert.deepEqual(prefixes, ['01m8bt88xvv ', '01m8bt88xva ', '01m8bt99aaa '])
    for (const line of lines) assert.ok(line.length <= 80, line)
  })

  it('visits shows its period, and pages apart from files', async () => {
    const count = (name: string, requests: number) => [{ name, requests }]
    fixture.responses['GET /api/v1/publish/otter/analytics?range=7d'] = {
      range: '7d',
      counted: true,
      totals: { visitors: 2, requests: 30, bytes: 940 },
      topPaths: [...count('/style.css', 20), ...count('/about', 10)],
      topPages: count('/about', 10),
      topFiles: count('/style.css', 20),
      referrers: [],
      missingPaths: [],
    }
    fixture.remember('otter')
    const { stdout } = await fixture.cli.run(['visits'], keyed)
    assert.match(stdout, /^Period +Last 7 days\nVisitors +2\n/)
    assert.match(stdout, /\n\nTop pages\n {2}\/about +10\n\nTop files\n {2}\/style\.css +20\n$/)
  })

  it('visits shows the days of one path, missing path or referrer', async () => {
    fixture.responses['GET /api/v1/publish/otter/analytics?range=7d&referrer=news.example'] = {
      filtered: {
        kind: 'referrer',
        name: 'news.example',
        requests: 1200,
        series: [
          { at: '2031-03-26T00:00:00.000Z', requests: 0 },
          { at: '2031-03-27T00:00:00.000Z', requests: 1200 },
        ],
      },
    }
    fixture.remember('otter')
    const { stdout } = await fixture.cli.run(['visits', '--referrer', 'news.example'], keyed)
    const days = ['By day (UTC)', '  2031-03-26  0', '  2031-03-27  1,200', '']
    assert.equal(stdout, ['Referrer  news.example', 'Requests  1,200', '', ...days].join('\n'))
  })

  it('restore makes a version live and prints the address', async () => {
    fixture.responses[VERSIONS] = { versions: [draft] }
    fixture.remember('otter')
    const { stdout, stderr } = await fixture.cli.run(['restore', 'v2'], keyed)
    assert.equal(stdout, 'http://otter.sites.test/\n')
    assert.match(stderr, /Restored the version of .* \(v2\)\nWarning: _redirects:3: has no target\n/)
    assert.equal((await fixture.cli.run(['restore'], keyed)).code, 2)
  })

  it('delete asks, requires typing the name for a permanent deletion, or --yes if there is no terminal', async () => {
    fixture.remember('otter')
    const details = fixture.responses[DETAILS] as object
    const rows: [flags: string[], restorable: boolean, typed: string][] = [
      [['--permanent'], true, 'oter'],
      [[], false, 'y'],
      [[], true, ''],
    ]
    for (const [flags, restorable, typed] of rows) {
      fixture.responses[DETAILS] = { ...details, restorable }
      const wrong = await fixture.cli.run(['delete', ...flags], { ...keyed, typed: [typed] })
      assert.equal(wrong.code, 6)
      assert.match(wrong.stderr, /Nothing was deleted/)
    }
    assert.equal((await fixture.cli.run(['delete'], keyed)).code, 2)
    assert.deepEqual(
      fixture.server.calls.filter(({ method }) => method === 'DELETE'),
      [],
    )
    const right = await fixture.cli.run(['delete'], { ...keyed, typed: ['y'] })
    assert.equal(right.code, 0)
    assert.match(right.stderr, /Deleted otter/)
    assert.equal(fixture.cli.siteMemory.all().length, 1, 'it can be restored')
    fixture.responses[DELETE] = { slug: 'otter', deleted: true, deletedUntil: null }
    const { stderr } = await fixture.cli.run(['delete', '--yes'], keyed)
    assert.match(stderr, /Deleted otter permanently\n$/)
    fixture.remember('otter')
    assert.equal((await fixture.cli.run(['delete', '--permanent', '--yes'], keyed)).code, 0)
    assert.equal(fixture.cli.siteMemory.all().length, 0)
  })

  it('delete stops at Ctrl-C, on a line of its own', async () => {
    fixture.remember('otter')
    const stop = new AbortController()
    const onStderr = (stderr: string) => stderr.endsWith('confirm: ') && stop.abort()
    const session = { ...keyed, typed: [], signal: stop.signal, onStderr }
    const { code, stderr } = await fixture.cli.run(['delete', '--permanent'], session)
    assert.equal(code, 130)
    assert.match(stderr, /confirm: \n\S*Error:\S* Interrupted\n$/)
    assert.equal(fixture.server.calls.length, 0)
  })

  it('open prints the address and opens a browser if there is a display, also of another site', async () => {
    fixture.remember('otter', { claimToken: 'secret' })
    assert.equal((await fixture.cli.run(['open'])).stdout, 'http://otter.sites.test/\n')
    assert.deepEqual(fixture.cli.launched, [])
    await fixture.cli.run(['open'], { env: { DISPLAY: ':0' } })
    assert.deepEqual(fixture.cli.launched, [['xdg-open', 'http://otter.sites.test/']])
    const { stdout } = await fixture.cli.run(['open', '--site', 'badger'], keyed)
    assert.equal(stdout, 'http://badger.sites.test/\n')
  })

  it('has to be named when there are several or none, or is asked for on a terminal', async () => {
    assert.match((await fixture.cli.run(['open'])).stderr, /No site was published from this folder/)
    for (const slug of ['otter', 'badger']) fixture.remember(slug)
    const { code, stderr } = await fixture.cli.run(['open'])
    assert.equal(code, 2)
    assert.match(stderr, /Name one:\n {2}--site badger \(badger, http\S+\)\n {2}--site otter \(otter/)
    const asked = await fixture.cli.run(['open', '--json'], { ...keyed, typed: ['9', '2'] })
    assert.equal(JSON.parse(asked.stdout).siteUrl, 'http://otter.sites.test/')
    assert.match(asked.stderr, / {2}1 {2}badger at http:\S+ \(badger\)\n/)
  })

  it('is no question when several folders were published to the same one', async () => {
    const { cli, server } = fixture
    for (const folder of ['.', 'dist', 'build'])
      cli.siteMemory.remember(join(cli.cwd, folder), { server: server.url, slug: 'otter' })
    const { code, stdout } = await cli.run(['open'], keyed)
    assert.deepEqual([code, stdout], [0, 'http://otter.sites.test/\n'])
    assert.match(
      (await cli.run(['pull'], keyed)).stderr,
      /This folder was published as otter: name the folder/,
    )
  })

  /** A site with these files, and an archive of the server with these bytes or with files of one byte. */
  function serveArchive(
    paths: string[],
    { hash, archive, members = 0 }: { hash?: string; archive?: Uint8Array; members?: number } = {},
  ): void {
    const size = 1
    fixture.responses['GET /api/v1/publish/otter'] = { currentVersionId: 'v1' }
    fixture.responses[`${VERSIONS}/v1`] = { files: paths.map((path) => ({ path, size, hash })) }
    const entries = [...paths, 'unlisted.txt'].flatMap((path) => [
      tarHeader(path, size),
      Buffer.from('x'),
      padding(size),
    ])
    const empty = Array.from({ length: members }, () => gzipSync(''))
    const bytes = concat([...empty, gzipSync(archive ?? concat([...entries, TAR_END]))])
    const respond = fixture.server.intercept
    fixture.server.intercept = (call, request, response) => {
      if (!call.path.includes('/archive')) return respond(call, request, response)
      response.end(bytes)
      return true
    }
  }

  it('is not written outside its folder or over the files of git by an archive of the server', async () => {
    fixture.remember('otter')
    const paths = ['../escaped.txt', '.git/hooks/post-checkout', 'a/.GIT/config', '/etc/passwd']
    // On this file system, the last two are different files.
    serveArchive([...paths, 'Fine.txt', 'fine.txt'])
    const { code, stderr } = await fixture.cli.run(['pull', 'copy'], keyed)
    assert.equal(code, 0)
    assert.match(stderr, /Skipped unsafe paths: \.\.\/escaped\.txt, \.git\/hooks/)
    assert.deepEqual(readdirSync(fixture.cli.cwd).sort(), ['.slipway', 'copy'])
    assert.deepEqual(readdirSync(join(fixture.cli.cwd, 'copy')), ['Fine.txt', 'fine.txt'])
    const records = Buffer.from(`${'0'.repeat(20)}1 path=x\n`)
    const endless: [archive: Uint8Array, message: RegExp][] = [
      [tarHeader('fine.txt', 1), /incomplete or invalid/],
      [Buffer.alloc(2000, 'x'), /incomplete or invalid/],
      [new Uint8Array(), /didn't send fine\.txt/],
      [concat([tarHeader('junk', 100_000), Buffer.alloc(100_000)]), /longer than the files of its version/],
      [concat([paxHeader(records.length), records, padding(records.length)]), /incomplete or invalid/],
    ]
    for (const [archive, message] of endless) {
      serveArchive(['fine.txt'], { archive })
      const { code: refused, stderr: reason } = await fixture.cli.run(['pull', 'copy', '--force'], keyed)
      assert.deepEqual([refused, message.test(reason)], [6, true], reason)
    }
    serveArchive(['fine.txt'], { members: 10_000 })
    assert.match((await fixture.cli.run(['pull', 'copy', '--force'], keyed)).stderr, /longer than the files/)
    const deleted = ['.git/config', 'old.txt']
    for (const path of deleted) fixture.cli.write({ [`otter/${path}`]: 'x' })
    fixture.responses[`${VERSIONS}/v0`] = {
      files: deleted.map((path) => ({ path, size: 1, hash: sha256('x') })),
    }
    fixture.cli.siteMemory.setLiveVersion('otter', fixture.server.url, 'v0')
    serveArchive(['fine.txt'])
    const within = await fixture.cli.run(['pull', 'otter', '--force'], keyed)
    const found = readdirSync(join(fixture.cli.cwd, 'otter'), { recursive: true }).sort()
    assert.deepEqual(found, ['.git', '.git/config', 'fine.txt'], within.stderr)
    const other = join(fixture.cli.cwd, 'otter/other')
    fixture.cli.write({ 'otter/other/a.txt': 'x' })
    symlinkSync(other, join(fixture.cli.cwd, 'otter/linked'))
    fixture.responses[`${VERSIONS}/v0`] = { files: [{ path: 'linked/a.txt', size: 1, hash: sha256('x') }] }
    fixture.cli.siteMemory.setLiveVersion('otter', fixture.server.url, 'v0')
    const linked = await fixture.cli.run(['pull', 'otter', '--force'], keyed)
    assert.deepEqual([linked.code, readdirSync(other)], [0, ['a.txt']], linked.stderr)
  })

  it('is downloaded by the same command after its disk was full', requires('small-disk'), async () => {
    await using disk = await mountSmallDisk(64 * 1024)
    const copy = join(disk.folder, 'copy')
    const pull = () => fixture.cli.run(['pull', copy, '--site', 'otter'], keyed)
    serveArchive(['a.txt'])
    await disk.fill()
    const full = await pull()
    assert.equal(full.code, 1)
    assert.match(full.stderr, /copy\/a\.txt: no space left on device\n {2}Free space on its disk/)
    assert.deepEqual(readdirSync(copy), [])
    await disk.clear()
    assert.deepEqual([(await pull()).code, readdirSync(copy)], [0, ['a.txt']])
  })

  it('is downloaded by the same command after the connection was lost, but not between other files', async () => {
    const { cli } = fixture
    fixture.remember('otter')
    serveArchive(['a.txt', 'b.txt', '.htaccess'], { hash: sha256('x') })
    const respond = fixture.server.intercept
    fixture.server.intercept = (call, request, response) => {
      if (!call.path.includes('/archive')) return respond(call, request, response)
      response.write(gzipSync(tarHeader('a.txt', 1)), () => response.destroy())
      return true
    }
    let isCut = false
    const lost = await cli.run(['pull', 'copy'], keyed)
    assert.deepEqual([lost.code, /The connection to \S+ was lost/.test(lost.stderr)], [5, true], lost.stderr)
    fixture.server.intercept = (call, request, response) => {
      if (!call.path.includes('/archive')) return respond(call, request, response)
      response.end(isCut ? gzipSync(tarHeader('a.txt', 1)).subarray(0, 60) : 'no gzip')
      return true
    }
    for (isCut of [true, false]) {
      const { code, stderr } = await cli.run(['pull', 'copy'], keyed)
      assert.deepEqual(
        [code, /archive (ended early|is incomplete)/.test(stderr)],
        [isCut ? 5 : 6, true],
        stderr,
      )
    }
    fixture.server.intercept = respond
    const rows: [files: Record<string, string>, code: number][] = [
      [{ 'a.txt': 'x' }, 0],
      [{ '.htaccess': 'x', '.slipway-00000000-0000-4000-8000-000000000000': 'not finished' }, 0],
      [{ 'a.txt': 'other' }, 6],
      [{ '.htaccess': 'other' }, 6],
      [{ 'a.txt': 'x', 'mine.txt': 'x' }, 6],
      [{ 'a.txt': 'x', '.env': 'x' }, 6],
      // The folder is not read further: reading this one fails.
      [{ 'a.txt': 'x', '.slipwayignore/mine.txt': 'x' }, 6],
    ]
    for (const [at, [files, code]] of rows.entries()) {
      for (const [path, content] of Object.entries(files)) cli.write({ [`copy${at}/${path}`]: content })
      assert.equal((await cli.run(['pull', `copy${at}`], keyed)).code, code, JSON.stringify(files))
    }
    for (const copy of ['copy0', 'copy1'])
      assert.deepEqual(readdirSync(join(cli.cwd, copy)), ['.htaccess', 'a.txt', 'b.txt'])
  })

  it('is not downloaded through links, and replaces a link by the file', async () => {
    const { cli } = fixture
    using outside = new CliHarness()
    outside.write({ 'target.txt': 'kept' })
    fixture.remember('otter')
    cli.write({ 'copy/index.html': 'before' })
    symlinkSync(outside.cwd, join(cli.cwd, 'copy/link'))
    symlinkSync(outside.cwd, join(cli.cwd, 'otter'))
    symlinkSync(outside.cwd, join(cli.cwd, 'linked'))
    using clone = new CliHarness()
    symlinkSync(outside.cwd, join(clone.cwd, 'linked'))
    symlinkSync(join(outside.cwd, 'target.txt'), join(cli.cwd, 'copy/file.txt'))
    const refused: [paths: string[], args: string[]][] = [
      [
        ['index.html', 'link/evil.txt'],
        ['pull', 'copy', '--force'],
      ],
      [
        ['index.html', 'link/deep/evil.txt'],
        ['pull', 'copy', '--force'],
      ],
      [['index.html'], ['pull', '--force']],
      [['index.html'], ['pull', 'linked', '--force']],
      [['index.html'], ['pull', join(clone.cwd, 'linked'), '--force']],
    ]
    for (const [paths, args] of refused) {
      serveArchive(paths)
      const { code, stderr } = await cli.run(args, keyed)
      assert.equal(code, 6, stderr)
      assert.match(stderr, /Refusing to write through the symbolic link \S+(link|otter|linked)\n/)
      assert.equal(readFileSync(join(cli.cwd, 'copy/index.html'), 'utf8'), 'before', 'nothing is written')
    }
    serveArchive(['file.txt', 'index.html', 'link'])
    assert.equal((await cli.run(['pull', 'copy', '--force'], keyed)).code, 0)
    for (const name of ['file.txt', 'link']) {
      assert.ok(lstatSync(join(cli.cwd, 'copy', name)).isFile(), name)
      assert.equal(readFileSync(join(cli.cwd, 'copy', name), 'utf8'), 'x')
    }
    assert.deepEqual(readdirSync(outside.cwd), ['target.txt'])
    assert.equal(readFileSync(join(outside.cwd, 'target.txt'), 'utf8'), 'kept')
  })

  it('is not written into the folder of a repository or of keys, also by a link', async () => {
    const { cli } = fixture
    using clone = new CliHarness()
    fixture.remember('otter')
    for (const { cwd } of [cli, clone]) {
      mkdirSync(join(cwd, '.git/hooks'), { recursive: true })
      symlinkSync('.git/hooks', join(cwd, 'docs'))
    }
    const folders = ['.git/hooks', '.git', 'sub/.GIT/new', '.ssh', join(clone.cwd, '.git/hooks/new')]
    for (const folder of [...folders, join(clone.cwd, 'docs'), join(clone.cwd, 'docs/new')]) {
      serveArchive(['post-checkout'])
      const { code, stderr } = await cli.run(['pull', folder, '--force'], keyed)
      assert.deepEqual([code, /Refusing to write into \S+\n/.test(stderr)], [6, true], stderr)
    }
    for (const { cwd } of [cli, clone]) assert.deepEqual(readdirSync(join(cwd, '.git/hooks')), [])
  })

  it('may have files of 8 GiB and more, whose sizes a tar has in binary', async () => {
    const archive = pack()
    archive.entry({ name: 'film.mp4', size: 9 * 2 ** 30 })
    const header = await once(archive, 'data')
    const files = readTar(Readable.from(header))
    const { path, size } = (await files.next()).value!
    assert.deepEqual([path, size], ['film.mp4', 9 * 2 ** 30])
    await files.return(undefined)
  })

  it('replaces no file by bytes with another hash', async () => {
    fixture.remember('otter')
    fixture.cli.write({ 'copy/index.html': 'before' })
    serveArchive(['index.html'], { hash: '0'.repeat(64) })
    const { code, stderr } = await fixture.cli.run(['pull', 'copy', '--force'], keyed)
    assert.equal(code, 6)
    assert.match(stderr, /index\.html differs from the file of its version/)
    assert.deepEqual(readdirSync(join(fixture.cli.cwd, 'copy')), ['index.html'])
    assert.equal(readFileSync(join(fixture.cli.cwd, 'copy/index.html'), 'utf8'), 'before')
  })

  it('has to be claimed first when it is anonymous, which moves it to the account and removes the token', async () => {
    fixture.remember('otter', { claimToken: 'secret', expiresAt: 'y' })
    const unclaimed = await fixture.cli.run(['versions'], keyed)
    assert.equal(unclaimed.code, 3)
    assert.match(
      unclaimed.stderr,
      /is unclaimed, so it can only be updated and deleted\n {2}Claim it first: slipway claim --site otter\n/,
    )
    const { code, stdout, stderr } = await fixture.cli.run(['claim'], keyed)
    assert.deepEqual([code, stdout], [0, 'http://otter.sites.test/\n'])
    assert.match(stderr, /otter is now yours and won't expire/)
    assert.deepEqual(fixture.bodies(), [{ claimToken: 'secret' }])
    assert.equal(fixture.cli.siteMemory.all()[0]!.claimToken, undefined)
  })

  it('claim signs in first when necessary, but not for a deleted site', async () => {
    fixture.remember('otter', { claimToken: 'secret' })
    assert.equal((await fixture.cli.run(['claim'], { typed: SIGN_IN })).code, 0)
    assert.equal(fixture.server.calls.at(-1)!.key, KEY)
    await fixture.cli.run(['logout'])
    fixture.remember('otter', { claimToken: 'secret' })
    fixture.responses[PREVIEW] = undefined
    const { code, stderr } = await fixture.cli.run(['claim'], { typed: SIGN_IN })
    assert.equal(code, 2)
    assert.match(stderr, /The server says NOT_FOUND/)
    assert.equal(fixture.server.log.at(-1), PREVIEW)
  })

  it('claim reports a site that is already claimed, and how to name it', async () => {
    fixture.remember('otter')
    const { code, stderr } = await fixture.cli.run(['claim'], keyed)
    assert.equal(code, 6)
    assert.match(stderr, /otter at http:\S+ already has an owner\n.*settings --site otter --name NAME/)
  })

  it('claim accepts a link of any server, and sends its token to that server only', async () => {
    const link = `${fixture.server.url}/claim?slug=otter&token=secret`
    const { code } = await fixture.cli.run(['claim', link], keyed)
    assert.equal(code, 0)
    const env = { SLIPWAY_KEY: KEY, SLIPWAY_URL: 'http://localhost:1' }
    const { code: other, stderr } = await fixture.cli.run(['claim', link], { env })
    assert.equal(other, 3)
    assert.match(stderr, /SLIPWAY_KEY was not sent to http:\/\/127\.0\.0\.1/)
    assert.match(stderr, /You're not signed in to http:\/\/127\.0\.0\.1/)
    assert.equal((await fixture.cli.run(['claim', 'https://example.test/'], keyed)).code, 2)
    fixture.cli.write({ 'new/index.html': 'x' })
    const published = await fixture.cli.run(['publish', 'new', '--server', fixture.server.url], { env })
    assert.equal(published.code, 3, 'and is not published without an account in its place')
    assert.match(published.stderr, /SLIPWAY_KEY belongs to another server than http:/)
  })
})

/** The header of an extended header. */
function paxHeader(size: number): Uint8Array {
  const header = Uint8Array.from(tarHeader('pax', size))
  header[156] = 'x'.charCodeAt(0)
  return header
}
