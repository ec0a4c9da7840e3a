import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { slugOf, useRealService } from './real-cli.ts'
import { KEY, startScriptedCli } from './scripted-cli.ts'

describe('a trusted repository', () => {
  const start = useRealService()

  it('is added for the site of the folder, listed and removed', async () => {
    using fixture = start({ 'site/index.html': 'live' })
    const { cli, signIn } = fixture
    await signIn()
    const slug = slugOf((await cli.run(['publish', 'site'])).stdout)
    assert.match((await cli.run(['trust'])).stderr, /No trusts yet.*trust github OWNER\/REPOSITORY/)
    const added = await cli.run(['trust', 'github', 'Ann/Bakery', '--branch', 'main', '--pull-requests'])
    assert.match(
      added.stderr,
      new RegExp(`Jobs of ann/bakery for branch main, pull requests can publish ${slug}`),
    )
    fixture.pass()
    const other = await cli.run([
      'trust',
      'gitlab',
      'ann/sites/bakery',
      '--site',
      slug,
      '--tag',
      'v*',
      '--json',
    ])
    const { id, forge, tag } = JSON.parse(other.stdout)
    assert.deepEqual([forge, tag], ['gitlab', 'v*'])
    const listed = await cli.run(['trust', 'list'])
    assert.match(listed.stdout, /gitlab +ann\/sites\/bakery +tag v\* .*publish +never\n.*github +ann\/bakery/)
    assert.equal((await cli.run(['trust', 'remove', id])).code, 0)
    const again = await cli.run(['trust', 'remove', id, '--json'])
    assert.deepEqual([again.code, JSON.parse(again.stdout).hint], [2, 'List the trusts: slipway trust'])
  })

  it('that no job used in time is listed as ended', async () => {
    const trust = { id: 't1', forge: 'github', repository: 'ann/bakery', site: 'otter', scope: 'publish' }
    const rules = { branch: 'main', tag: null, environment: null, workflow: null, pullRequests: false }
    const times = { lastUsedAt: null, createdAt: '2020-01-01T00:00:00.000Z' }
    const trusts = ['2020-01-31T00:00:00.000Z', '2999-01-31T00:00:00.000Z'].map((lapsesAt) => {
      return { ...trust, ...rules, ...times, lapsesAt }
    })
    await using fixture = await startScriptedCli({ 'GET /api/v1/me/trusts': { trusts } })
    const { stdout } = await fixture.cli.run(['trust'], { env: { SLIPWAY_KEY: KEY } })
    assert.match(stdout, /publish +never, has ended\n.*publish +never\n$/)
  })

  it('needs a repository and a rule', async () => {
    using fixture = start({})
    const { cli } = fixture
    for (const [args, reason] of [
      [['github'], /Name a repository/],
      [['github', 'ann/bakery'], /Add --branch, --tag, --environment or --pull-requests/],
      [['github', 'ann/bakery', '--branch', 'main', '--scope', 'all'], /--scope must be/],
      [['remove'], /Name the id of a trust/],
    ] as const) {
      const { code, stderr } = await cli.run(['trust', ...args])
      assert.equal(code, 2)
      assert.match(stderr, reason)
    }
  })
})
