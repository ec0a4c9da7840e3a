import assert from 'node:assert/strict'
import fs, { mkdirSync, renameSync, rmdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { toFiles } from '../api/content.ts'
import { makeSecret } from '../api/planted-secrets.ts'
import { getUrl, sendRequest } from '../support/http-client.ts'
import { listen } from '../support/listen.ts'
import { waitFor } from '../support/wait-for.ts'
import { TcpProxy } from '../tools/tcp-proxy.ts'
import { slugOf, useRealService } from './real-cli.ts'

const FILES = { 'site/index.html': 'live', 'site/a.txt': 'a' }

describe('a preview', () => {
  const start = useRealService()

  /** A published site of an account. */
  async function startOwned() {
    const fixture = start(FILES)
    const client = await fixture.signIn()
    const { stdout } = await fixture.cli.run(['publish', 'site'])
    const read = async (url: string) => (await getUrl(url.trim())).text
    const publish = async (text: string, ...args: string[]) => {
      fixture.pass()
      fixture.cli.write({ 'site/index.html': text })
      return fixture.cli.run(['publish', 'site', ...args])
    }
    return { ...fixture, client, siteUrl: stdout.trim(), slug: slugOf(stdout), read, publish }
  }

  it('is published, listed, promoted and deleted, and its URL stays the same', async () => {
    using fixture = await startOwned()
    const { cli, client, siteUrl, slug, read, publish } = fixture
    const first = await publish('1', '--preview', 'pr-42', '-m', 'A change')
    assert.deepEqual([first.code, slugOf(first.stdout)], [0, `pr-42--${slug}`], first.stderr)
    assert.match(first.stderr, /Published 2 files \(2 bytes\) as pr-42 in .* \(1 uploaded, 1 byte\)/)
    assert.match(first.stderr, /Make it live: slipway promote pr-42\n.*Expires: in 30 days/s)
    const second = await publish('2', '--preview', 'pr-42', '--ttl', '2h')
    assert.match(second.stderr, /Expires: in 2 h/)
    assert.deepEqual(
      [second.stdout, await read(second.stdout), await read(siteUrl)],
      [first.stdout, '2', 'live'],
    )
    assert.match((await publish('2', '--preview', 'pr-42')).stderr, /No changes\. pr-42 is up to date\./)
    await publish('3', '--preview', 'staging')
    const listed = await cli.run(['previews'])
    assert.match(listed.stdout, /^NAME .*\nstaging +preview .*1 changed.*\npr-42 +preview .* http:.*\n$/)
    assert.match((await cli.run(['versions'])).stdout, / pr-42 /)
    const { previews } = JSON.parse((await cli.run(['previews', '--json'])).stdout)
    const { versionId } = previews[1]
    const { currentVersionId } = await client.details(slugOf(siteUrl))
    assert.equal((await cli.run(['promote', 'pr-42', '--version', currentVersionId!])).code, 7)
    assert.equal((await cli.run(['promote', 'pr-42', '--version', '01kb3x9a'])).code, 7)
    const promoted = await cli.run(['promote', 'pr-42', '--version', versionId.slice(0, 20)])
    assert.deepEqual([promoted.code, promoted.stdout, await read(siteUrl)], [0, `${siteUrl}\n`, '2'])
    assert.match(
      promoted.stderr,
      new RegExp(
        `Promoted pr-42: the version of \\d+ \\w+, \\d+:\\d+ \\(${versionId.slice(0, 10)}\\) is live\n`,
      ),
    )
    const unchanged = await publish('2', '-m', 'A change')
    assert.match(unchanged.stderr, /^✓ No changes\. Already live\.\nThe message was not stored/m)
    assert.doesNotMatch(unchanged.stderr, /pr-42|Expires/)
    assert.deepEqual(unchanged.stdout, promoted.stdout)
    const result = JSON.parse((await publish('2', '--json')).stdout)
    assert.deepEqual([result.unchanged, result.preview, result.expiresAt], [true, undefined, undefined])
    const picked = await cli.run(['promote'], { typed: ['1'] })
    assert.deepEqual([picked.code, await read(siteUrl)], [0, '3'])
    assert.equal((await cli.run(['previews', 'delete', 'pr-42'])).code, 0)
    assert.notEqual(await read(first.stdout), '2')
    const again = await cli.run(['previews', 'delete', 'pr-42', '--json'])
    assert.deepEqual([again.code, JSON.parse(again.stdout).hint], [2, 'List the previews: slipway previews'])
    assert.match((await cli.run(['previews'])).stdout, /staging +live /)
  })

  it('and a version are not published with a key that does not permit what follows', async () => {
    using fixture = await startOwned()
    const { cli, client, publish, siteUrl, read } = fixture
    const slug = slugOf(siteUrl)
    for (const [scope, args] of [
      ['publish', ['--name', `${slug}-2`]],
      ['publish', ['--no-password']],
      ['preview', ['--preview', 'pr-1', '--review']],
    ] as const) {
      cli.env.SLIPWAY_KEY = (await client.createKey({ name: `for ${args.at(-1)}`, scope })).apiKey
      const { code, stderr } = await publish('1', ...args)
      assert.deepEqual(
        [code, /^Error: --\S+ needs a key of scope \S+\. This one has/m.test(stderr)],
        [3, true],
        stderr,
      )
    }
    assert.deepEqual([await read(siteUrl), (await client.previews(slug)).previews], ['live', []])
    await client.addCollaborator(slug, 'bob@example.test')
    cli.env.SLIPWAY_KEY = await fixture.service.signIn('bob@example.test')
    for (const args of [['--name', `${slug}-2`], ['--no-password']]) {
      const { code, stderr } = await publish('1', ...args)
      const sentence = `Error: Only the owner of ${slug} can use ${args[0]}\n`
      assert.deepEqual([code, stderr.includes(sentence)], [6, true], stderr)
    }
    assert.equal(await read(siteUrl), 'live')
  })

  it('or a version is named when a later step fails', async () => {
    using fixture = await startOwned()
    const { client, publish, siteUrl } = fixture
    let slug = slugOf(siteUrl)
    // As many renames as an account has a day.
    for (let count = 0; count < 10; count++)
      ({ slug } = await client.renameSite(slug, `${slugOf(siteUrl)}-${count}`))
    const { code, stderr } = await publish('1', '--site', slug, '--name', `${slug}-x`)
    assert.notEqual(code, 0)
    assert.match(stderr, new RegExp(`//${slug}\\..* was published, but a later step failed\\.\n`))
  })

  it('needs an account, and refuses what would change the site', async () => {
    using fixture = await startOwned()
    const { cli, publish, siteUrl, read } = fixture
    for (const args of [['--draft'], ['--name', 'bakery'], ['--password']])
      assert.equal((await publish('1', '--preview', 'pr-1', ...args)).code, 2)
    for (const args of [['--name', 'bakery'], ['--password'], ['--no-password']])
      assert.equal((await publish('1', '--draft', ...args)).code, 2)
    assert.equal((await publish('1', '--preview', 'PR 1')).code, 2)
    cli.write({ 'site/_redirects': '/a /b 999\n' })
    for (const [what, ...args] of [
      ['preview', '--preview', 'pr-1'],
      ['draft', '--draft'],
    ] as const) {
      const strict = await publish('1', ...args, '--strict')
      assert.deepEqual([strict.code, await read(siteUrl)], [6, 'live'], strict.stderr)
      assert.match(strict.stderr, new RegExp(`The ${what} has warnings\n.*_redirects:1`))
    }
    cli.env.SLIPWAY_SITE_PASSWORD = 'sourdough'
    const locked = await publish('1', '--strict', '--password')
    assert.deepEqual([locked.code, await read(siteUrl)], [6, 'live'], locked.stderr)
    cli.write({ 'site/_redirects': '/a /b\n' })
    assert.equal((await publish('1', '--strict', '--password')).code, 0)
    assert.notEqual(await read(siteUrl), '1')
    assert.equal((await cli.run(['previews', 'delete'])).code, 2)
    for (const line of ['previews delete ..', 'feedback --preview ..', 'promote .', 'settings --site ..'])
      assert.equal((await cli.run(line.split(' '))).code, 2, `${line} is no other request`)
    await assert.rejects(fixture.client.file(slugOf(siteUrl), '../x'), { code: 'NOT_FOUND' })
    assert.equal((await cli.run(['promote'])).code, 2)
    delete cli.env.SLIPWAY_KEY
    const refused = await publish('1', '--preview', 'pr-1', '--new')
    assert.match(refused.stderr, /Previews need an account\n.*First: slipway login/)
  })
})

describe('a folder that is watched', () => {
  const start = useRealService()

  /** Publishes with --watch; `until` waits for a line on stderr after what it has returned before. */
  async function watching(...args: string[]) {
    return watchAs('owner', undefined, ...args)
  }

  /** As the owner of the site or without an account, over this port of loopback. */
  async function watchAs(publisher: 'owner' | 'anonymous', port: number | undefined, ...args: string[]) {
    const fixture = start(FILES)
    if (port !== undefined) fixture.cli.env.SLIPWAY_URL = `http://localhost:${port}`
    const client = publisher === 'owner' ? await fixture.signIn() : fixture.service.client()
    const published = await fixture.cli.run(['publish', 'site'])
    const stop = new AbortController()
    let stderr = ''
    let seen = 0
    const running = fixture.cli.run(['publish', 'site', '--watch', ...args], {
      signal: stop.signal,
      onStderr: (text) => {
        stderr = text
      },
    })
    const until = async (line: RegExp) => {
      const rest = () => stderr.slice(seen)
      await waitFor(() => line.test(rest()))
      seen += line.exec(rest())!.index + line.exec(rest())![0].length
    }
    const slug = slugOf(published.stdout)
    const read = async (path: string, label = `pr-1--${slug}`) => {
      const { status, text } = await sendRequest(fixture.service.port, { site: label, path })
      return status === 200 ? text.split('\n')[0] : status
    }
    await until(/Watching .*site\. Ctrl-C stops\./)
    const end = () => {
      stop.abort()
      return running
    }
    return { ...fixture, client, slug, running, until, read, end }
  }

  it('has each change on its preview, with new and removed files and folders, and open pages reload', async () => {
    using fixture = await watching('--preview', 'pr-1')
    const { cli, until, read, slug, client, service } = fixture
    const { versionId } = await client.preview(slug, 'pr-1')
    const path = `/_slipway/reload?version=${versionId}`
    const reload = sendRequest(service.port, { site: `pr-1--${slug}`, path })
    cli.write({ 'site/index.html': 'changed' })
    await until(/1 file changed in \d+ ms/)
    assert.deepEqual(
      [(await reload).status, await read('/'), await read('/', slug)],
      [200, 'changed', 'live'],
    )
    cli.write({ 'site/new/folder/b.txt': 'b' })
    await until(/1 file changed/)
    assert.equal(await read('/new/folder/b.txt'), 'b')
    cli.write({ 'site/new/folder/b.txt': 'later' })
    await until(/1 file changed/)
    rmSync(join(cli.cwd, 'site/new'), { recursive: true })
    await until(/1 file removed/)
    assert.deepEqual([await read('/new/folder/b.txt'), await read('/a.txt')], [404, 'a'])
    cli.write({ 'site/large.bin': Buffer.alloc(1_500_000, 'x') })
    await until(/1 file changed/)
    assert.equal(await read('/large.bin'), 'x'.repeat(1_500_000))
    assert.equal((await fixture.end()).code, 0)
  })

  it('continues after a failure, and publishes everything when the preview was deleted', async () => {
    using fixture = await watching('--preview', 'pr-1', '--ttl', '1h')
    const { cli, until, read, slug, client } = fixture
    cli.write({ 'site/_redirects': '/a /b 999\n', 'site/a.txt': '' })
    // The empty file may be one that is being written: it is not counted here, but in the next comparison.
    await until(/1 file changed in \d+ ms\nWarning: _redirects:1: /)
    await until(/1 file changed/)
    assert.equal(await read('/a.txt'), '')
    await client.deletePreview(slug, 'pr-1')
    rmSync(join(cli.cwd, 'site/_redirects'))
    await until(/Published the whole folder/)
    cli.write({ 'site/index.html': 'again', 'site/empty.txt': '' })
    await until(/1 file changed/)
    await until(/1 file changed/)
    assert.deepEqual([await read('/'), await read('/empty.txt')], ['again', ''])
    const { expiresAt, createdAt } = await client.preview(slug, 'pr-1')
    assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 3_600_000)
    assert.equal((await fixture.end()).code, 0)
  })

  it('is published when it was deleted and made again, immediately or after a while', async () => {
    using fixture = await watching('--preview', 'pr-1')
    const { cli, until, read } = fixture
    const build = (content: string) =>
      cli.write({ 'site/index.html': content, 'site/sub/page.html': content })
    const clean = () => rmSync(join(cli.cwd, 'site'), { recursive: true })
    for (const round of ['first', 'second']) {
      clean()
      build(round)
      await until(/2 files changed/)
    }
    clean()
    await until(/Error: /)
    build('third')
    await until(/2 files changed/)
    cli.write({ 'site/sub/page.html': 'changed' })
    await until(/1 file changed/)
    assert.deepEqual([await read('/'), await read('/sub/page.html')], ['third', 'changed'])
    const { code, stderr } = await fixture.end()
    assert.deepEqual([code, stderr.match(/Error: /g)?.length], [0, 1], stderr)
  })

  it('is not published again after a refusal that waiting does not change, until the next change', async () => {
    using fixture = await watching()
    const { cli, until, read, slug } = fixture
    // One state each; a file that is written in place is empty before.
    const put = (name: string, text: string) => {
      cli.write({ written: text })
      renameSync(join(cli.cwd, 'written'), join(cli.cwd, 'site', name))
    }
    put('a.txt', makeSecret())
    await until(/Error: .*\n(?:.|\n)*Publishing again after the next change\n/)
    const comparisons = cli.pauses.length
    const folder = join(cli.cwd, 'site', 'empty')
    await waitFor(() => {
      mkdirSync(folder)
      rmdirSync(folder)
      return cli.pauses.length > comparisons + 1
    })
    put('index.html', 'still with the secret')
    await until(/Error: .*\n(?:.|\n)*Publishing again after the next change\n/)
    cli.write({ 'site/a.txt': 'none' })
    await until(/2 files changed/)
    assert.deepEqual([await read('/', slug), await read('/a.txt', slug)], ['still with the secret', 'none'])
    const { code, stderr } = await fixture.end()
    assert.deepEqual([code, stderr.match(/Error: /g)?.length], [0, 2], stderr)
  })

  it('can be the site itself, which has no live reload', async () => {
    using fixture = await watching()
    const { cli, until, read, slug } = fixture
    cli.write({ 'site/index.html': 'changed' })
    await until(/1 file changed/)
    assert.equal(await read('/', slug), 'changed')
    assert.equal((await fixture.end()).code, 0)
    assert.equal((await cli.run(['publish', 'site', '--watch', '--json'])).code, 2)
  })

  it('is added to a site whose other files the user has chosen to keep, whatever others publish', async () => {
    using fixture = start({ 'site/index.htm': 'ours', 'site/a.txt': 'a' })
    const { cli } = fixture
    const client = await fixture.signIn()
    const slug = slugOf((await cli.run(['publish', 'site'])).stdout)
    const theirs = { 'index.html': 'theirs', b: 'b', c: 'c', d: 'd', e: 'e' }
    await client.publish({ slug, files: toFiles(theirs) })
    const stop = new AbortController()
    let stderr = ''
    const running = cli.run(['publish', 'site', '--watch', '--overwrite'], {
      typed: ['1'],
      signal: stop.signal,
      onStderr: (text) => {
        stderr = text
      },
    })
    await waitFor(() => /Watching/.test(stderr))
    await client.publish({ slug, files: toFiles({ f: 'f' }), merge: true })
    cli.write({ 'site/g.txt': 'g' })
    await waitFor(() => /1 file changed|whole folder/.test(stderr))
    stop.abort()
    await running
    const paths = (await client.details(slug)).files.map(({ path }) => path).sort()
    assert.deepEqual(paths, ['a.txt', 'b', 'c', 'd', 'e', 'f', 'g.txt', 'index.htm', 'index.html'], stderr)
  })

  it('ends when the system watches no more folders, as later changes would be missed', async (t) => {
    using fixture = await watching()
    const { watch } = fs
    t.mock.method(fs, 'watch', (...args: Parameters<typeof watch>) => {
      if (!String(args[0]).endsWith('more')) return watch(...args)
      throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
    })
    syncBuiltinESMExports()
    fixture.cli.write({ 'site/more/b.txt': 'b' })
    const { code, stderr } = await fixture.running
    t.mock.restoreAll()
    syncBuiltinESMExports()
    assert.equal(code, 6)
    assert.match(stderr, /The system watches no more folders\n.*fs\.inotify\.max_user_watches/)
  })

  for (const [what, publisher, args] of [
    ['site', 'owner', []],
    ['site without an owner', 'anonymous', []],
    ['preview', 'owner', ['--preview', 'pr-1']],
  ] as const) {
    it(`continues with its ${what} when the response to a publish was lost, and the folder has changed since`, async () => {
      using fixture = start(FILES)
      await using proxy = await TcpProxy.open(fixture.service.port)
      using watched = await watchAs(publisher, proxy.port, ...args)
      const { cli, until, read, end, slug } = watched
      // The transport repeats the request, to which the response is lost as well.
      let losses = 2
      proxy.onBytes = (direction, _bytes, connection) => {
        if (direction === 'toServer' || losses === 0) return
        losses--
        cli.write({ 'site/a.txt': 'later' })
        connection.cut()
      }
      cli.write({ 'site/index.html': 'lost' })
      await until(/Error: /)
      await until(/The last change was published/)
      await until(/1 file changed/)
      const label = args.length > 0 ? `pr-1--${slug}` : slug
      assert.deepEqual([await read('/', label), await read('/a.txt', label)], ['lost', 'later'])
      assert.deepEqual([losses, (await end()).code], [0, 0])
    })
  }

  it('names a failure once while it lasts, and publishes the change after it', async () => {
    using fixture = start(FILES)
    await using proxy = await TcpProxy.open(fixture.service.port)
    using watched = await watchAs('owner', proxy.port)
    const { cli, until, end } = watched
    let attempts = 0
    proxy.onBytes = (_direction, _bytes, connection) => {
      if (++attempts < 20) connection.cut()
    }
    cli.write({ 'site/index.html': 'changed' })
    await until(/1 file changed/)
    const { stderr } = await end()
    assert.equal(stderr.match(/Error: /g)?.length, 1, stderr)
  })

  it('waits for an hour at most, however long a server says', async () => {
    using fixture = start(FILES)
    const busy = createServer((request, response) => {
      request.resume()
      response.writeHead(503, { 'Retry-After': '10000000' }).end()
    })
    await using _ = { [Symbol.asyncDispose]: async () => void busy.close().closeAllConnections() }
    await using proxy = await TcpProxy.open(fixture.service.port)
    using watched = await watchAs('owner', proxy.port)
    const { cli, until, end } = watched
    proxy.upstreamPort = await listen(busy)
    proxy.cut()
    cli.write({ 'site/index.html': 'changed' })
    await until(/Publishing again in 60 min/)
    proxy.upstreamPort = fixture.service.port
    proxy.cut()
    await until(/1 file changed/)
    assert.equal(Math.max(...cli.pauses), 3_600_000)
    assert.equal((await end()).code, 0)
  })

  type Conflict = [name: string, args: string[], change: Record<string, string | undefined>]
  const conflicts: Conflict[] = [
    ['live version', [], { 'index.html': 'mine' }],
    ['live version without a file that is deleted here', [], { 'a.txt': undefined }],
    ['version of the preview', ['--preview', 'pr-1'], { 'index.html': 'mine' }],
  ]
  for (const [name, args, change] of conflicts) {
    it(`ends when another ${name} was published, and says who did, unless it may overwrite`, async () => {
      for (const overwrites of [false, true]) {
        using fixture = await watching(...args, ...(overwrites ? ['--overwrite'] : []))
        const { cli, client, slug, read, until } = fixture
        const [, preview] = args
        const label = preview === undefined ? slug : `${preview}--${slug}`
        fixture.pass()
        const files = [{ path: 'index.html', content: 'theirs' }]
        const theirs = await client.publishContents({ files, ...(preview && { preview }) }, slug)
        fixture.pass()
        for (const [path, content] of Object.entries(change)) {
          if (content === undefined) rmSync(join(cli.cwd, 'site', path))
          else cli.write({ [`site/${path}`]: content })
        }
        if (overwrites) {
          await until(/Published the whole folder/)
          assert.equal(await read('/', label), change['index.html'] ?? 'live')
          assert.equal((await fixture.end()).code, 0)
        } else {
          await until(/another version.*\n {2}Published .* by ann-\d+@example\.test, with a key\n/i)
          await until(/To overwrite that version: --overwrite\n/)
          assert.equal((await fixture.running).code, 7)
          const shown = preview
            ? (await client.preview(slug, preview)).versionId
            : (await client.details(slug)).currentVersionId
          assert.equal(shown, theirs.versionId)
        }
      }
    })
  }

  it('adds its changes to any live version with --merge', async () => {
    using fixture = await watching('--merge')
    const { cli, client, slug, until, read } = fixture
    fixture.pass()
    await client.publishContents({ files: [{ path: 'b.txt', content: 'theirs' }] }, slug)
    fixture.pass()
    cli.write({ 'site/index.html': 'mine' })
    await until(/1 file changed/)
    assert.deepEqual([await read('/', slug), await read('/b.txt', slug)], ['mine', 'theirs'])
    assert.equal((await fixture.end()).code, 0)
  })
})
