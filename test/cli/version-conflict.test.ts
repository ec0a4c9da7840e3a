import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { Slipway } from '../../client/sdk/slipway.ts'
import { toFiles } from '../api/content.ts'
import { TcpProxy } from '../tools/tcp-proxy.ts'
import { type RealCli, slugOf, useRealService } from './real-cli.ts'

const SITE = { 'site/index.html': 'home', 'site/old.txt': 'old' }

describe('publish after another version went live', () => {
  const start = useRealService()

  /** A site that was published from here, and then by a program elsewhere. */
  async function startConflict(theirs: [path: string, content: string][] = [['index.html', 'theirs']]) {
    const fixture = start(SITE)
    const { cli } = fixture
    const client = await fixture.signIn()
    const slug = slugOf((await cli.run(['publish', 'site'])).stdout)
    fixture.pass()
    const { versionId } = await publishElsewhere(client, slug, theirs)
    fixture.pass()
    cli.write({ 'site/index.html': 'mine' })
    return {
      ...fixture,
      client,
      slug,
      versionId,
      read: async (path: string) => {
        const { bytes } = await client.file(slug, path)
        return Buffer.concat(await Array.fromAsync(bytes())).toString()
      },
    }
  }

  it('fails with exit code 7 and says who published what and when', async () => {
    using site = await startConflict([
      ['index.html', 'theirs'],
      ['new.txt', 'new'],
    ])
    const run = await site.cli.run(['publish', '--json'])
    assert.equal(run.code, 7, run.stderr)
    assert.match(
      run.stderr,
      /Another version of \S+ at http:\S+ is live\n {2}Published .* by ann-\d+@example\.test, with a key: from elsewhere/,
    )
    assert.match(run.stderr, /1 new: new\.txt\n +1 changed: index\.html\n +1 removed: old\.txt\n/)
    assert.match(run.stderr, /--overwrite\n[\s\S]*--merge\n[\s\S]*slipway pull/)
    const { code, status, details } = JSON.parse(run.stdout)
    assert.deepEqual([code, status, details.live.versionId], ['VERSION_CONFLICT', 409, site.versionId])
    assert.deepEqual(
      [details.added, details.changed, details.removed],
      [['new.txt'], ['index.html'], ['old.txt']],
    )
    assert.equal(await site.read('index.html'), 'theirs')
  })

  it('suggests only commands and options that mean the folder and the site, of several', async () => {
    using site = start({ ...SITE, 'www/index.html': 'www' })
    const { cli } = site
    const client = await site.signIn()
    const slug = slugOf((await cli.run(['publish', 'site'])).stdout)
    await cli.run(['publish', 'www'])
    site.pass()
    await publishElsewhere(client, slug, [['index.html', 'theirs']])
    cli.write({ 'site/index.html': 'mine' })
    const conflict = await cli.run(['publish', 'site'])
    const steps = ['--overwrite', '--merge', `slipway pull --site ${slug}`]
    assert.deepEqual(
      [...conflict.stderr.matchAll(/^ {2}To .*: (.*)$/gm)].map(([, step]) => step),
      steps,
    )
    for (const [option, command] of [
      ['--draft', /^Make it live: slipway (restore \w+ --site \S+)$/m],
      ['--preview=pr-1', /^Make it live: slipway (promote pr-1 --site \S+)$/m],
    ] as const) {
      site.pass()
      const [, typed = ''] = command.exec((await cli.run(['publish', 'site', option])).stderr) ?? []
      assert.equal(slugOf((await cli.run(typed.split(' '))).stdout), slug, typed)
    }
    delete cli.env.SLIPWAY_KEY
    const anonymous = await cli.run(['publish', 'site', '--new'])
    assert.match(anonymous.stderr, /^Keep it: slipway claim( --name \S+)? --site \S+, or open /m)
  })

  it('says so of a named site, whatever site the folder has', async () => {
    using site = start({ ...SITE, 'other/index.html': 'other' })
    const { cli } = site
    await cli.run(['publish', 'other'])
    const client = await site.signIn()
    const slug = slugOf((await cli.run(['publish', 'site'])).stdout)
    site.pass()
    await publishElsewhere(client, slug, [['index.html', 'theirs']])
    const run = await cli.run(['publish', 'other', '--site', slug, '--replace'])
    assert.deepEqual([run.code, /by ann-\d+@example\.test/.test(run.stderr)], [7, true], run.stderr)
    cli.write({ 'other/index.html': 'theirs' })
    const same = await cli.run(['publish', 'other', '--site', slug, '--replace'])
    assert.equal(same.code, 0, same.stderr)
  })

  type Choice = [name: string, args: string[], typed: string[] | undefined, code: number, index: string]
  const choices: Choice[] = [
    ['overwrites it with --overwrite', ['--overwrite'], undefined, 0, 'mine'],
    ['overwrites it after 1 on a terminal', [], ['1'], 0, 'mine'],
    ['adds the files after 2', [], ['2'], 0, 'mine'],
    ['publishes nothing after 3', [], ['3'], 6, 'theirs'],
    ['adds the files with --merge', ['--merge'], undefined, 0, 'mine'],
    ['keeps a draft without a question', ['--draft'], undefined, 0, 'theirs'],
  ]
  for (const [name, args, typed, code, index] of choices) {
    it(name, async () => {
      using site = await startConflict([
        ['index.html', 'theirs'],
        ['other.txt', 'other'],
      ])
      const run = await site.cli.run(['publish', ...args], { ...(typed && { typed }) })
      assert.equal(run.code, code, run.stderr)
      assert.equal(await site.read('index.html'), index)
      const { files } = await site.client.version(
        site.slug,
        (await site.client.details(site.slug)).currentVersionId!,
      )
      const isMerged = args.includes('--merge') || typed?.[0] === '2' || index === 'theirs'
      const hasOther = files.some(({ path }) => path === 'other.txt')
      assert.equal(hasOther, isMerged)
      site.pass()
      site.cli.write({ 'site/index.html': 'again' })
      const again = await site.cli.run(['publish', '--replace'])
      assert.equal(again.code, isMerged ? 7 : 0, again.stderr)
    })
  }

  it('succeeds when that version has the same files', async () => {
    using site = await startConflict([
      ['index.html', 'mine'],
      ['old.txt', 'old'],
    ])
    const run = await site.cli.run(['publish'])
    assert.deepEqual([run.code, /No changes/.test(run.stderr)], [0, true], run.stderr)
  })

  it('fails when that version has the same files and more', async () => {
    using site = await startConflict([
      ['index.html', 'mine'],
      ['old.txt', 'old'],
      ['more.txt', 'more'],
    ])
    const run = await site.cli.run(['publish'])
    assert.equal(run.code, 7, run.stderr)
    assert.equal(await site.read('more.txt'), 'more')
  })

  it('removes what that version deleted after a pull into the folder, unless it was changed here or is ignored now', async () => {
    for (const [name, old, ignored] of [
      ['old.txt', 'old', ''],
      ['.old', 'old', ''],
      ['old.txt', 'changed here', ''],
      ['old.txt', 'old', 'old.txt'],
    ] as const) {
      using site = start({ 'index.html': 'home', '.slipwayignore': '!.old', [name]: 'old' })
      const { cli } = site
      const client = await site.signIn()
      const slug = slugOf((await cli.run(['publish', '.'])).stdout)
      site.pass()
      await publishElsewhere(client, slug, [['index.html', 'theirs']])
      cli.write({ 'mine.html': 'mine', [name]: old })
      const conflict = await cli.run(['publish'])
      assert.deepEqual([conflict.code, conflict.stderr.includes(`pull ../${slug}\n`)], [7, true])
      const within = await cli.run(['pull'])
      assert.deepEqual([within.code, within.stderr.includes('pull . --force\n')], [2, true])
      cli.write({ '.slipwayignore': `!.old\n${ignored}` })
      const { currentVersionId } = await client.details(slug)
      const named = await cli.run(['pull', '.', '--force', '--json', '--version', `${currentVersionId}`])
      assert.deepEqual(JSON.parse(named.stdout).removed, [], 'of a version that is named')
      const pulled = JSON.parse((await cli.run(['pull', '.', '--force', '--json'])).stdout)
      const isKept = old !== 'old' || ignored !== ''
      assert.deepEqual([pulled.removed, existsSync(join(cli.cwd, name))], [isKept ? [] : [name], isKept])
      assert.equal((await cli.run(['publish', '--replace'])).code, old === 'old' ? 0 : 7)
    }
  })

  it('changes nothing after a pull into a folder with names in another Unicode form or case', async () => {
    using site = start({
      ...{ 'site/index.html': 'home', 'site/About.html': 'about', 'site/u\u0308ber.html': 'old' },
      ...{ 'site/cafe\u0301.html': 'cafe', 'site/na\u0308/a.html': 'a' },
    })
    const { cli } = site
    const client = await site.signIn()
    const slug = slugOf((await cli.run(['publish', 'site'])).stdout)
    site.pass()
    const theirs = { 'index.html': 'home', 'about.html': 'about', 'caf\u00e9.html': 'theirs' }
    await client.publish({
      slug,
      files: toFiles({ ...theirs, 'n\u00e4/a.html': 'a', 'n\u00e4/b.html': 'b' }),
    })
    site.pass()
    const pulled = JSON.parse((await cli.run(['pull', 'site', '--force', '--json'])).stdout)
    assert.deepEqual(pulled.removed, ['About.html', 'u\u0308ber.html'])
    const names = readdirSync(join(cli.cwd, 'site'), { recursive: true, encoding: 'utf8' })
    const there = ['about.html', 'cafe\u0301.html', 'index.html', 'na\u0308']
    assert.deepEqual(names.sort(), [...there, 'na\u0308/a.html', 'na\u0308/b.html'])
    assert.equal(readFileSync(join(cli.cwd, 'site/cafe\u0301.html'), 'utf8'), 'theirs')
    const { code, stdout, stderr } = await cli.run(['publish', 'site', '--json'])
    assert.deepEqual([code, JSON.parse(stdout).unchanged], [0, true], stderr)
  })

  it('has the index of another name as edited after a pull, which leaves out its copy', async () => {
    using site = start({ 'site/index.htm': 'one', 'site/b/INDEX.HTML': 'b', 'site/b/index.html': 'b' })
    const { cli } = site
    const client = await site.signIn()
    const slug = slugOf((await cli.run(['publish', 'site'])).stdout)
    site.pass()
    const copied = await cli.run(['pull', 'copy', '--site', slug])
    assert.match(copied.stderr, /index\.htm is also published as index\.html\n/)
    assert.equal((await cli.run(['pull', 'site', '--force'])).code, 0)
    for (const [folder, inside] of [
      ['copy', ['INDEX.HTML']],
      ['site', ['INDEX.HTML', 'index.html']],
    ] as const) {
      assert.deepEqual(readdirSync(join(cli.cwd, folder)).sort(), ['b', 'index.htm'])
      assert.deepEqual(readdirSync(join(cli.cwd, folder, 'b')).sort(), inside)
    }
    cli.write({ 'site/index.htm': 'two' })
    assert.equal((await cli.run(['publish', 'site'])).code, 0)
    const { bytes } = await client.file(slug, 'index.html')
    assert.equal(Buffer.concat(await Array.fromAsync(bytes())).toString(), 'two')
  })

  it('fails after a pull that skipped files, which the next publish would remove', async () => {
    using site = await startConflict()
    const files = toFiles({ 'index.html': 'theirs', '.kube/page.html': 'theirs' })
    await site.client.publish({ slug: site.slug, files })
    site.pass()
    const pulled = await site.cli.run(['pull', 'site', '--force'])
    assert.equal(pulled.code, 0, pulled.stderr)
    assert.match(
      pulled.stderr,
      /paths: \.kube\/page\.html\n.*removes them from the site, unless with --merge\.\n/,
    )
    assert.equal((await site.cli.run(['publish', '--replace'])).code, 7)
  })

  it('fails after a pull that left files behind a link, which the live version no longer has', async () => {
    using site = start({ 'site/index.html': 'home', 'site/a/x.txt': 'x', 'site/b/x.txt': 'x' })
    const client = await site.signIn()
    const slug = slugOf((await site.cli.run(['publish', 'site'])).stdout)
    site.pass()
    await client.publish({ slug, files: toFiles({ 'index.html': 'home', 'b/x.txt': 'x' }) })
    rmSync(join(site.cli.cwd, 'site/a'), { recursive: true })
    symlinkSync('b', join(site.cli.cwd, 'site/a'))
    const pulled = await site.cli.run(['pull', 'site', '--force'])
    assert.equal(pulled.code, 0, pulled.stderr)
    assert.match(pulled.stderr, /changed here or behind a link: a\/x\.txt\n/)
    assert.ok(existsSync(join(site.cli.cwd, 'site/b/x.txt')))
    site.cli.write({ 'site/index.html': 'mine' })
    assert.equal((await site.cli.run(['publish', '--replace'])).code, 7)
  })

  it('succeeds when the caller has seen that version', async () => {
    const seen: [args: [string, ...string[]], code: number][] = [
      [['rollback'], 0],
      [['pull', 'site', '--force'], 0],
      [['link', 'SLUG', 'site'], 0],
      [['versions'], 7],
    ]
    for (const [args, code] of seen) {
      using site = await startConflict()
      const run = await site.cli.run(args.map((arg) => (arg === 'SLUG' ? site.slug : arg)))
      assert.equal(run.code, 0, run.stderr)
      site.cli.write({ 'site/index.html': 'mine' })
      assert.equal((await site.cli.run(['publish', '--replace'])).code, code, args[0])
    }
  })

  it('fails after a publish whose response was lost while another version went live', async () => {
    using site = start(SITE)
    const { cli } = site
    await using proxy = await TcpProxy.open(site.service.port)
    cli.env.SLIPWAY_URL = `http://localhost:${proxy.port}`
    const client = await site.signIn()
    const slug = slugOf((await cli.run(['publish', 'site'])).stdout)
    site.pass()
    loseFinalize(site, proxy, async () => {
      site.pass()
      await publishElsewhere(client, slug, [['theirs.html', 'theirs']])
    })
    cli.write({ 'site/index.html': 'mine' })
    const run = await cli.run(['publish', '--json'])
    assert.deepEqual([run.code, JSON.parse(run.stdout).live], [0, false], run.stderr)
    assert.match(run.stderr, /Another version has gone live since\.\n/)
    cli.write({ 'site/index.html': 'again' })
    assert.equal((await cli.run(['publish', '--replace'])).code, 7)
  })

  it('succeeds when the response to its own publish was lost', async () => {
    using site = await startConflict()
    const memory = join(site.cli.cwd, '.slipway/site.json')
    const { sites } = JSON.parse(readFileSync(memory, 'utf8'))
    const pending = { versionId: site.versionId, manifest: 'of the same files' }
    site.cli.write({ '.slipway/site.json': JSON.stringify({ sites: [{ ...sites[0], pending }] }) })
    const run = await site.cli.run(['publish', '--replace'])
    assert.equal(run.code, 0, run.stderr)
  })
})

/** Loses the responses to a finalize; `work` runs before it is sent for the third time. */
function loseFinalize({ cli }: Pick<RealCli, 'cli'>, proxy: TcpProxy, work: () => Promise<unknown>): void {
  let isFinalizing = false
  // The transport repeats the request immediately.
  let losses = 2
  proxy.onBytes = (direction, bytes, connection) => {
    if (direction === 'toServer') isFinalizing = bytes.includes('/finalize')
    else if (isFinalizing && losses-- > 0) connection.cut()
  }
  const { wait } = cli.retryPolicy
  cli.retryPolicy.wait = async () => {
    cli.retryPolicy.wait = wait
    await work()
  }
}

function publishElsewhere(client: Slipway, slug: string, files: [path: string, content: string][]) {
  const contents = files.map(([path, content]) => ({ path, content }))
  return client.publishContents({ files: contents, message: 'from elsewhere' }, slug)
}
