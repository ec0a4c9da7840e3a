import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AdminSite } from '../../protocol/api/admin/lists.schema.ts'
import { startApi } from '../api/api.ts'
import { sha256 } from '../api/content.ts'
import { insertSites } from '../api/stored-sites.ts'
import { waitFor } from '../support/wait-for.ts'
import { run } from './program.ts'

const api = await startApi()

/** Runs a command beside the service; its output, of a command with `--json` parsed. */
async function command(...args: string[]) {
  const { code, lines, stderr } = await run(args, api.settings)
  assert.equal(code, 0, `${args}: ${stderr}`)
  return args.includes('--json') ? JSON.parse(lines.at(-1)!) : lines.join('\n')
}

test('as many sites are listed as the operator asks for, also from several pages', async () => {
  const owner = await api.account()
  // Commands refuse data without any of the files that they name.
  await api.publish(owner.client, { 'index.html': 'one of many' })
  await insertSites(api, owner, 450, 'many')
  for (const limit of [1, 200, 201, 450]) {
    const { sites } = await command('site', 'list', '--limit', `${limit}`, '--json')
    assert.equal(new Set(sites.map(({ slug }: AdminSite) => slug)).size, limit)
  }
})

test('the operator stops abuse from the command line while the service runs, and undoes it', async () => {
  const owner = await api.account()
  const { slug, siteUrl } = await api.publish(owner.client, { 'index.html': 'content' })
  const becomes = (status: number) => waitFor(async () => (await api.visit(siteUrl)).status === status)
  assert.match(await command('site', 'suspend', slug, '--reason', 'phishing', '--note', 't'), /is suspended/)
  await becomes(451)
  const shown = await command('site', 'show', slug, '--json')
  assert.deepEqual([shown.owner.email, shown.suspension.note], [owner.email, 't'])
  assert.match(
    await command('site', 'show', slug),
    new RegExp(`^URL +${siteUrl}\\n(.*\\n)*suspended +since .*: phishing$`),
  )
  const { sites } = await command('site', 'list', '--search', owner.email, '--sort', 'visits', '--json')
  const reasons = sites.map((site: AdminSite) => [site.slug, site.suspension?.reason])
  assert.deepEqual(reasons, [[slug, 'phishing']])
  assert.match(await command('site', 'list'), new RegExp(`^${slug}  .*  suspended  .*  ${owner.email}$`, 'm'))
  assert.match(await command('site', 'resume', slug), /is not suspended/)
  await becomes(200)
  assert.deepEqual(await command('account', 'suspend', owner.email, '--reason', 'spam', '--json'), {
    email: owner.email,
  })
  await becomes(451)
  await command('account', 'resume', owner.email)
  await becomes(200)
  const hash = sha256('content')
  const block = await command('block', 'hash', 'add', hash, '--reason', 'malware', '--for', '1d', '--json')
  assert.equal(block.value, hash)
  await becomes(451)
  assert.match(await command('block', 'hash', 'list'), new RegExp(`^${hash}  \\d{4}-.*  malware$`))
  await command('block', 'hash', 'remove', hash)
  await becomes(200)
  const refused = await run(['block', 'network', 'add', '10.0.0.0/8', '--reason', 'x'], api.settings)
  assert.deepEqual([refused.code, /local network/.test(refused.stderr)], [1, true])
  await command('site', 'delete', slug, '--reason', 'phishing')
  await becomes(404)
  const { store } = await api.operator()
  const entries = await store.read.audit.list({ limit: 20 })
  assert.deepEqual(
    entries.map(({ action, actor }) => `${action} ${actor}`).reverse(),
    [
      ...['site.suspend', 'site.resume', 'account.suspend', 'account.resume'],
      ...['hash.block', 'hash.unblock', 'site.delete'],
    ].map((action) => `${action} command line`),
  )
})

test('the operator sets a plan with exceptions, which are printed as the command takes them', async () => {
  const { email } = await api.account()
  const set = (...options: string[]) => command('account', 'plan', email, 'hobby', ...options)
  const isSet = `${email} is on the plan hobby (displayed as "Hobby").`
  const exceptions = ['--requests-per-hour unlimited', '--sites 5', '--bytes 2000000000']
  assert.deepEqual(
    (await set('--sites', '5', '--bytes', '2GB', '--requests-per-hour', 'unlimited')).split('\n'),
    [isSet, ...exceptions.map((exception) => `Exception: ${exception}`)],
  )
  assert.deepEqual((await set(...exceptions.join(' ').split(' '))).split('\n').length, 4)
  assert.equal(
    await set('--sites', 'plan', '--bytes', 'plan'),
    `${isSet}\nException: --requests-per-hour unlimited`,
  )
})

test('what publishers choose neither begins a line nor controls the terminal of the operator', async () => {
  const owner = await api.account()
  const title = '\u001b]0;x\u0007Bank\nowner  other@example.com\u009b31m \u202ehtap'
  const { slug } = await api.publish(owner.client, { 'index.html': 'x' }, { title })
  const shown = await command('site', 'show', slug)
  assert.doesNotMatch(shown, /[^\P{C}\n]/u)
  assert.deepEqual(shown.match(/^owner .*$/gm), [`owner            ${owner.email}`])
  const { code, lines } = await run(['site', 'show', slug, '--json'], api.settings)
  assert.deepEqual([code, JSON.parse(lines[0]!).title], [0, title])
  assert.doesNotMatch(lines[0]!, /\p{C}/u)
  for (const args of [[title], ['site', 'show', title]]) {
    const { stderr } = await run(args, api.settings)
    assert.ok(stderr.includes('\\u001b]0;x\\u0007Bank'), stderr)
    assert.doesNotMatch(stderr, /[^\P{C}\n]/u)
  }
})

test('the operator sets, shows and ends a message to all users from the command line', async () => {
  const text = 'Maintenance <tonight> & tomorrow'
  const until = '2100-01-01'
  const set = await command('banner', 'set', text, '--level', 'warning', '--until', until, '--json')
  const shown = { level: 'warning', text, link: null, from: null, until: `${until}T00:00:00.000Z` }
  assert.deepEqual(set, { banner: shown })
  assert.equal(
    await command('banner', 'show'),
    `warning: ${text}\nshown from now until ${until}T00:00:00.000Z`,
  )
  await command('banner', 'clear')
  assert.deepEqual(await command('banner', 'show', '--json'), { banner: null })
  const refused = await run(['banner', 'set', 'x', '--level', 'urgent'], api.settings)
  assert.deepEqual([refused.code, /level: must be one of info, warning/.test(refused.stderr)], [1, true])
})
