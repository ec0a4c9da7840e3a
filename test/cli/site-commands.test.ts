import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { CredentialStore } from '../../client/cli/state/credentials.ts'
import { getUrl } from '../support/http-client.ts'
import { slugOf, useRealService } from './real-cli.ts'

const FILES = {
  'site/empty.css': '',
  'site/index.html': 'one',
  'site/a.txt': 'a',
  [`site/${'long-folder-name/'.repeat(8)}ü.txt`]: 'deep',
  'site/großes & kleines #1?.html': 'ü',
  'site/100%.txt': 'all',
  'site/_headers.d/+plus': 'plus',
  'site/large.bin': Buffer.alloc(300_000, 'x').toString(),
}

describe('a site of an account', () => {
  const start = useRealService()
  const startElsewhere = useRealService()

  /** An owned site with versions of these texts. */
  async function startOwned(...texts: string[]) {
    const fixture = start(FILES)
    const client = await fixture.signIn()
    let slug = ''
    for (const text of texts) {
      fixture.pass()
      fixture.cli.write({ 'site/index.html': text })
      slug = slugOf((await fixture.cli.run(['publish', 'site'])).stdout)
    }
    const live = async () => {
      const bytes = (await client.file(slug, 'index.html')).bytes()
      return Buffer.concat(await Array.fromAsync(bytes)).toString()
    }
    const runJson = async (...args: string[]) => {
      const { code, stdout } = await fixture.cli.run([...args, '--json'])
      return { exit: code, json: JSON.parse(stdout) }
    }
    return { ...fixture, client, slug, live, runJson }
  }

  it('that does not exist, or is another one, is named by every command, with what to do', async () => {
    using fixture = await startOwned('one')
    for (const line of [
      ...[
        'versions',
        'settings --title x',
        'open',
        'visits',
        'delete --yes',
        'pull x',
        'diff site',
        'feedback',
      ],
      ...['previews', 'promote work', 'restore 01', 'rollback', 'people', 'people remove a@b.test'],
    ]) {
      const { exit, json } = await fixture.runJson(...line.split(' '), '--site', 'nope')
      const { error, hint } = json
      assert.deepEqual([exit, error], [2, 'Site nope not found, or it belongs to another account'], line)
      assert.equal(hint, 'List your sites: slipway sites', line)
    }
    const { error } = (await fixture.runJson('link', 'nope', 'site')).json
    assert.match(error, /^Site nope not found/)
    assert.match((await fixture.runJson('domains', 'check', 'a.test')).json.error, /^a\.test is not one/)
  })

  it('is linked to a folder, or the refusal says how to link one', async () => {
    using fixture = await startOwned('one')
    fixture.cli.write({ '.ssh/key': 'secret' })
    const absent = (await fixture.runJson('link', 'bakery', 'absent')).json
    assert.deepEqual(
      [absent.error, absent.hint],
      ['Folder not found: absent', 'To link the current folder: slipway link bakery .'],
    )
    const { error, hint } = (await fixture.runJson('link', 'bakery', '.ssh')).json
    assert.match(error, /^Refusing to link \S+\.ssh: /)
    assert.equal(hint, 'Name the folder of your site: slipway link bakery ./folder')
  })

  it('is opened by its former name, and the result has the present one', async () => {
    using fixture = await startOwned('one')
    await fixture.client.renameSite(fixture.slug, 'present-name')
    const { json } = await fixture.runJson('open', '--site', fixture.slug)
    assert.deepEqual([json.slug, json.siteUrl.includes('//present-name.')], ['present-name', true])
    for (const command of ['versions', 'previews', 'diff site', 'pull copy', 'settings', 'visits']) {
      const { json } = await fixture.runJson(...command.split(' '), '--site', fixture.slug)
      assert.equal(json.slug, 'present-name', command)
    }
  })

  it('can be rolled back step by step, and a version restored by the start of its id in any case or from a list', async () => {
    using fixture = await startOwned('one', 'two', 'three')
    const { cli, live, runJson } = fixture
    const [newest, second] = (await runJson('versions')).json.versions
    for (const text of ['two', 'one']) {
      const rolledBack = await cli.run(['rollback'])
      const { stdout } = await cli.run(['versions'])
      const [, id] = /^(\w+) +live /m.exec(stdout)!
      assert.match(rolledBack.stderr, new RegExp(`Rolled back to the version of .* \\(${id}\\)\n`))
      assert.equal(await live(), text)
    }
    const { code, stderr } = await cli.run(['rollback'])
    assert.equal(code, 6)
    assert.match(stderr, /There is no earlier live version/)
    const restored = await cli.run(['restore', newest.versionId.slice(0, 24).toUpperCase()])
    assert.deepEqual([restored.code, await live()], [0, 'three'])
    assert.match(restored.stderr, /Restored the version of .* \(\w{8,10}\)\n/)
    const picked = await cli.run(['restore', '--json'], { typed: ['1'] })
    assert.equal(JSON.parse(picked.stdout).versionId, second.versionId)
    assert.equal(await live(), 'two')
    const several = await cli.run(['restore', newest.versionId.slice(0, 4)])
    assert.deepEqual([several.code, several.stderr.includes(newest.versionId)], [2, true])
    assert.equal((await cli.run(['restore', 'zz'])).code, 2)
  })

  it('that is named without having been published from here is one of the server of the folder', async () => {
    using here = start({ 'index.html': 'shop' })
    using elsewhere = startElsewhere({ 'index.html': 'of another server' })
    const { cli } = here
    const credentials = new CredentialStore(join(cli.home, '.config/slipway/config.json'))
    for (const { cli: other, signIn } of [here, elsewhere]) {
      await signIn()
      await other.run(['publish', '.', '--name', 'tea-house'])
      credentials.remember(other.env.SLIPWAY_URL!, { key: other.env.SLIPWAY_KEY!, email: 'ann@example.test' })
    }
    const server = cli.env.SLIPWAY_URL!
    await cli.run(['publish', '.', '--name', 'tea-shop', '--new'])
    cli.env = {}
    cli.siteMemory.forget('tea-house', server)
    const { siteUrl } = JSON.parse((await cli.run(['settings', '--site', 'tea-house', '--json'])).stdout)
    assert.equal(new URL(siteUrl).port, new URL(server).port)
    cli.write({ 'index.html': 'tea-house' })
    const named = ['--site', 'tea-house']
    assert.equal((await cli.run(['publish', '.', ...named])).stdout.trim(), siteUrl)
    for (const args of [
      ['delete', '--yes', ...named],
      ['undelete', 'tea-house'],
      ['delete', '--yes', ...named],
    ])
      assert.equal((await cli.run(args)).code, 0)
    assert.equal((await getUrl(siteUrl)).status, 404)
    const untouched = await elsewhere.service.client(elsewhere.cli.env.SLIPWAY_KEY!).details('tea-house')
    assert.equal(untouched.files[0]!.size, 'of another server'.length)
  })

  it('is served completely, whatever the names of its files', async () => {
    using fixture = start(FILES)
    const { stdout } = await fixture.cli.run(['publish', 'site'])
    for (const [path, text] of Object.entries(FILES)) {
      const url = path.split('/').slice(1).map(encodeURIComponent).join('/')
      assert.equal((await getUrl(stdout.trim() + url)).text, text, path)
    }
  })

  it('can be downloaded, into a folder without other files or with --force, with every byte verified', async () => {
    using fixture = await startOwned('one', 'two')
    const { cli, slug, runJson } = fixture
    const { code, stdout, stderr } = await cli.run(['pull'])
    assert.deepEqual([code, stdout], [0, `${slug}\n`], stderr)
    const read = (path: string) => readFileSync(join(cli.cwd, slug, path), 'utf8')
    for (const [path, text] of Object.entries({ ...FILES, 'site/index.html': 'two' })) {
      assert.equal(read(path.replace('site/', '')), text)
    }
    assert.equal((await cli.run(['pull'])).code, 0)
    cli.write({ [`${slug}/index.html`]: 'mine' })
    const again = await runJson('pull', slug)
    assert.deepEqual([again.exit, again.json.code], [6, 'REFUSED'])
    const first = (await runJson('versions')).json.versions.at(-1)
    await cli.run(['pull', slug, '--force', '--version', first.versionId])
    assert.equal(read('index.html'), 'one')
    const saved = await cli.run([
      'diff',
      '--version',
      first.versionId,
      '--with',
      (await runJson('versions')).json.versions[0].versionId,
    ])
    assert.equal(saved.stdout, 'M index.html\n')
    assert.equal((await cli.run(['diff', 'site', '--with', first.versionId])).code, 2)
  })

  it('has settings that change without a publish, and are shown, and has visits', async () => {
    using fixture = await startOwned('one')
    const { cli, client, slug } = fixture
    assert.match((await cli.run(['settings'])).stdout, /^Title +None\n/m)
    const env = { SLIPWAY_SITE_PASSWORD: 'secret' }
    const args = ['--title', 'Bakery', '--spa', '--password', '--require-approval', 'anyone']
    assert.equal((await cli.run(['settings', ...args], { env })).code, 0)
    const { title, spaMode, hasPassword, requireApproval } = await client.details(slug)
    assert.deepEqual([title, spaMode, hasPassword, requireApproval], ['Bakery', true, true, 'anyone'])
    const unknown = await cli.run(['settings', '--name', 'never-named', '--require-approval', 'some'])
    assert.deepEqual(
      [unknown.code, /must be one of off, anyone, collaborators/.test(unknown.stderr)],
      [2, true],
    )
    assert.equal((await client.details(slug)).slug, slug, 'it has kept its name')
    const { stdout } = await cli.run([
      'settings',
      '--no-password',
      '--no-spa',
      '--description',
      'Bread\r\nand\ncakes',
    ])
    assert.match(
      stdout,
      /^Title +Bakery\nDescription +Bread and cakes\nSingle-page app +Off\nExpires +Never\nPassword +Off\nApproval +By anyone$/m,
    )
    const { stdout: expiring } = await cli.run(['settings', '--ttl', '365d'])
    assert.match(expiring, /^Expires +\d+ \w{3} \d{4}, \d\d:\d\d$/m)
    assert.equal((await client.versions(slug)).versions.length, 1)
    assert.match((await cli.run(['visits'])).stdout, /^No visits in the last 7 days\.\n$/)
    assert.equal((await fixture.runJson('visits', '--range', '24h')).json.range, '24h')
    const key = await fixture.service.signIn('helper-of-settings@example.test')
    await client.addCollaborator(slug, 'helper-of-settings@example.test')
    for (const [code, name, env] of [
      [2, 'A B', {}],
      [6, 'for-the-owner', { SLIPWAY_KEY: key }],
    ] as const) {
      const refused = await cli.run(['settings', '--title', 'Half', '--name', name], { env })
      assert.deepEqual([refused.code, (await client.details(slug)).title], [code, 'Bakery'], refused.stderr)
    }
    const renamed = await fixture.runJson('settings', '--name', 'named-at-last', '--title', 'Bakery')
    assert.deepEqual([renamed.json.slug, renamed.json.title], ['named-at-last', 'Bakery'])
    assert.equal((await cli.run(['visits', '--range', '1y'])).code, 2)
    assert.match((await cli.run(['whoami'])).stdout, /^ann-\d@example\.test\n$/)
    for (let at = 1, named = 'named-at-last'; at < 10; named = `named-${at++}`)
      await client.renameSite(named, `named-${at}`)
    const half = await cli.run(['settings', '--name', 'once-too-often', '--title', 'Half'])
    assert.deepEqual([half.code, (await client.details('named-9')).title], [4, 'Half'], half.stderr)
    assert.match(half.stderr, /Only --name failed: the other settings are saved\./)
  })

  it('gets its name when it is created, and another one by publish or settings', async () => {
    using fixture = await startOwned('one')
    const { cli, client, status } = fixture
    const site = async (...args: string[]) => (await cli.run(args)).stdout.trim()
    const bakery = await site('publish', 'site', '--new', '--name', 'bakery', '-m', 'First day')
    assert.match(bakery, /^http:\/\/bakery\./)
    assert.equal((await client.versions('bakery')).versions[0]!.message, 'First day')
    assert.match(await site('publish', 'site', '--name', 'bread'), /^http:\/\/bread\./)
    assert.equal(await status(bakery, '/'), 308)
    assert.equal(await site('publish', 'site', '--name', 'bakery'), bakery, 'it can take its name back')
    assert.equal((await cli.run(['settings', '--name', 'cakes', '--title', 'Cakes'])).code, 0)
    const { title, siteUrl } = await client.details('cakes')
    assert.deepEqual([title, await site('open')], ['Cakes', siteUrl])
    const taken = await fixture.runJson('publish', 'site', '--new', '--name', 'cakes')
    assert.deepEqual([taken.exit, taken.json.code, taken.json.status], [6, 'NAME_TAKEN', 409])
    assert.equal(taken.json.hint, 'It is your site: update it with --site cakes')
    await site('publish', 'site', '--new', '--name', 'pies')
    const other = await fixture.runJson('publish', 'site', '--name', 'cakes')
    assert.deepEqual([other.exit, other.json.hint], [6, taken.json.hint])
    delete cli.env.SLIPWAY_KEY
    assert.equal((await cli.run(['publish', 'site', '--new', '--name', 'anyone'])).code, 3)
  })

  it('can be linked to another folder, which updates it from then on', async () => {
    using fixture = await startOwned('one')
    const { cli, slug, live, runJson } = fixture
    rmSync(join(cli.cwd, '.slipway'), { recursive: true })
    cli.write({ 'other/index.html': 'linked' })
    assert.equal((await cli.run(['link', '--json'], { typed: [] })).code, 1)
    const { exit, json } = await runJson('init', slug, 'other')
    assert.deepEqual([exit, json.folder], [0, 'other'])
    fixture.pass()
    assert.equal((await cli.run(['deploy', '--replace'])).code, 0)
    assert.equal(await live(), 'linked')
    assert.equal((await cli.run(['link', 'no-such-site'])).code, 2)
  })

  it('can be deleted, found in the trash and restored, and deleted permanently from there', async () => {
    using fixture = await startOwned('one')
    const { cli, slug, live, runJson } = fixture
    const deleted = await cli.run(['delete', '--yes'])
    assert.match(deleted.stderr, new RegExp(`Deleted ${slug}\nRestore it: slipway undelete ${slug}\n`))
    assert.match((await cli.run(['trash'])).stdout, new RegExp(`^NAME .*\n${slug} +`))
    const gone = await cli.run(['versions', '--site', slug])
    assert.deepEqual([gone.code, /slipway undelete/.test(gone.stderr)], [2, true])
    assert.equal((await cli.run(['undelete'])).code, 2)
    const unnamed = await cli.run(['versions'])
    assert.deepEqual([unnamed.code, unnamed.stderr], [gone.code, gone.stderr])
    const restored = await cli.run(['undelete', slug])
    assert.equal(slugOf(restored.stdout), slug)
    assert.match(restored.stderr, /Update it: slipway publish site\n/)
    assert.equal(await live(), 'one')
    const again = await cli.run(['undelete', slug])
    assert.equal(again.code, 0)
    assert.match(again.stderr, new RegExp(`^${slug} is not in the trash\\. Nothing was changed\\.\n`))
    fixture.pass()
    cli.write({ 'site/index.html': 'two' })
    assert.equal(slugOf((await cli.run(['publish'])).stdout), slug)
    assert.equal(await live(), 'two')
    rmSync(join(cli.cwd, '.slipway'), { recursive: true })
    await cli.run(['delete', '--site', slug, '--yes'])
    const elsewhere = await cli.run(['undelete', slug])
    assert.match(elsewhere.stderr, new RegExp(`Update it from a folder: slipway link ${slug}\n`))
    await cli.run(['rm', '--site', slug, '--yes'])
    const final = await cli.run(['delete', '--site', slug, '--permanent'], { typed: [slug] })
    assert.deepEqual([final.code, /permanently deletes/.test(final.stderr)], [0, true])
    assert.deepEqual((await runJson('trash')).json.sites, [])
    assert.equal((await cli.run(['undelete', slug])).code, 2)
  })

  it('can be deleted from its folder without an account until it is claimed, then by its account', async () => {
    using fixture = start(FILES)
    const { cli, service, status } = fixture
    const { stdout: url } = await cli.run(['publish', 'site'])
    const slug = slugOf(url)
    assert.equal((await cli.run(['delete'])).code, 2)
    const deleted = await cli.run(['delete', '--json'], { typed: [slug] })
    assert.match(deleted.stderr, new RegExp(`This permanently deletes ${slug}\\.`))
    assert.deepEqual(JSON.parse(deleted.stdout), { slug, deleted: true, deletedUntil: null })
    assert.equal(await status(url, '/'), 404)
    const { stdout: another, stderr } = await cli.run(['publish', 'site'])
    assert.doesNotMatch(stderr, /came with the folder/)
    const { claimToken } = cli.siteMemory.all()[0]!
    const owner = await service.signIn('claims-in-a-browser@example.test')
    await service.client(owner).claim(slugOf(another), claimToken!)
    assert.equal((await cli.run(['delete', '--yes'])).code, 3)
    assert.equal(await status(another, '/'), 200)
    const keyed = { env: { SLIPWAY_KEY: owner } }
    const kept = await cli.run(['delete', '--yes'], keyed)
    assert.deepEqual([kept.code, await status(another, '/')], [0, 404])
    assert.match(kept.stderr, new RegExp(`Deleted ${slugOf(another)}\n.*undelete ${slugOf(another)}`))
    await cli.run(['undelete', slugOf(another)], keyed)
    const confirmed = await cli.run(['delete'], { ...keyed, typed: [slugOf(another)] })
    assert.match(confirmed.stderr, /Deleted \S+ permanently/)
    assert.deepEqual(JSON.parse((await cli.run(['trash', '--json'], keyed)).stdout).sites, [])
  })

  it('gets the name of a claim although it was claimed in a browser before', async () => {
    using fixture = start(FILES)
    const { cli, service } = fixture
    await cli.run(['publish', 'site'])
    const { slug, claimToken, claimUrl } = cli.siteMemory.all()[0]!
    const SLIPWAY_KEY = await service.signIn('claims-twice@example.test')
    await service.client(SLIPWAY_KEY).claim(slug, claimToken!)
    const named = await cli.run(['claim', claimUrl!, '--name', 'crumbs', '--json'], { env: { SLIPWAY_KEY } })
    const { siteUrl } = JSON.parse(named.stdout)
    assert.deepEqual([slugOf(siteUrl), cli.siteMemory.all()[0]!.slug], ['crumbs', 'crumbs'], named.stderr)
  })

  it('is listed within the width of a terminal, with the headings above their values', async () => {
    using fixture = await startOwned('one', 'two')
    const { cli } = fixture
    const title = 'Garden Club Summer Fair and Plant Sale'
    await cli.run(['settings', '--title', title])
    fixture.pass()
    await cli.run(['publish', 'site', '--preview', 'pr-1', '-m', `New prices, and a map for the ${title}`])
    for (const args of [['sites'], ['versions'], ['previews'], ['keys'], ['trash']]) {
      const { stdout } = await cli.run(args, { columns: 80 })
      const [head = '', ...rows] = stdout.trimEnd().split('\n')
      const whole = (await cli.run(args)).stdout.trimEnd().split('\n')
      assert.deepEqual([rows.length, head.length <= 80], [whole.length - 1, true], stdout)
      for (const row of rows) assert.ok(row.length <= 80, row)
    }
  })

  it('can be shared, listed by its collaborators, and no longer shared', async () => {
    using fixture = await startOwned('one')
    const { client, cli, slug, runJson } = fixture
    const { email } = await client.me()
    const added = await cli.run(['people', 'add', 'bob@example.test'])
    assert.deepEqual(
      [added.code, added.stderr.includes(`bob@example.test can publish to ${slug}`)],
      [0, true],
    )
    const { stdout: people } = await cli.run(['people'])
    assert.match(people, new RegExp(`^EMAIL .*\n${email} +owner\nbob@example.test +collaborator `))
    const removed = await runJson('people', 'remove', 'bob@example.test')
    assert.deepEqual(removed.json, { slug, email: 'bob@example.test', removed: true })
    const again = await runJson('people', 'remove', 'bob@example.test')
    assert.deepEqual([again.exit, again.json.hint], [2, 'See who has access: slipway people'])
    await cli.run(['people', 'add', 'bob@example.test'])
    cli.env.SLIPWAY_KEY = await fixture.service.signIn('bob@example.test')
    assert.match((await cli.run(['sites'])).stdout, new RegExp(`OWNER +TITLE\n.* ${email}`))
    const refused = await runJson('delete', '--site', slug, '--yes')
    assert.deepEqual([refused.exit, refused.json.code], [6, 'OWNER_REQUIRED'])
    assert.match(
      (await cli.run(['people', 'bob@example.test'])).stderr,
      /Did you mean: slipway people add bob@/,
    )
    assert.equal((await cli.run(['people', 'add'])).code, 2)
  })

  it('stays as it is, with its name, when a publish has warnings and --strict', async () => {
    using fixture = await startOwned('one')
    const { cli, client, slug, live } = fixture
    const publish = async (...args: string[]) => {
      fixture.pass()
      return cli.run(['publish', 'site', '--strict', ...args])
    }
    cli.write({ 'site/index.html': 'two', 'site/_redirects': '/a /b 999\n' })
    const refused = await publish('--json', '--name', 'other-name')
    assert.deepEqual([refused.code, await live()], [6, 'one'])
    assert.equal((await client.details(slug)).slug, slug)
    const { code, hint } = JSON.parse(refused.stdout)
    assert.equal(code, 'REFUSED')
    assert.match(hint, /^_redirects:1: .*\nDraft: http:/)
    await cli.run(['publish', 'site'])
    const same = await publish('--json')
    assert.equal(JSON.parse(same.stdout).error, 'No changes. The version is already live, with warnings')
    cli.write({ 'site/_redirects': '/a /b 301\n' })
    assert.equal((await publish('--open')).code, 0)
    assert.equal(await live(), 'two')
    cli.write({ 'site/A.TXT': 'other case' })
    assert.equal((await publish()).code, 6)
    delete cli.env.SLIPWAY_KEY
    assert.equal((await publish('--new', '--json')).code, 6)
    rmSync(join(cli.cwd, 'site/A.TXT'))
    const { stdout } = await publish('--new')
    assert.equal(await fixture.status(stdout, '/'), 200)
  })
})
