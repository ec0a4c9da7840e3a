import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BANNER_HEADER, encodeBanner } from '../../protocol/api/banner.ts'
import { startForEachTest } from '../support/started-fixture.ts'
import { KEY, startScriptedCli } from './scripted-cli.ts'

describe('the message of the operator', () => {
  const fixture = startForEachTest(() => startScriptedCli())

  it('is printed on stderr once per text, and the JSON on stdout is that of the command', async () => {
    const { cli, server } = fixture
    const run = async (header: string) => {
      server.reply(/./, [200, { publishes: [], nextCursor: null }, { [BANNER_HEADER]: header }])
      return cli.run(['sites', '--json'], { env: { SLIPWAY_KEY: KEY } })
    }
    const host = new URL(server.url).host
    const first = encodeBanner({
      level: 'info',
      text: 'Read \u001b[31m this €',
      link: 'https://status.test/',
    })
    const other = encodeBanner({ level: 'warning', text: 'Another', link: null })
    for (const [header, printed] of [
      [first, `Message from ${host}: Read \uFFFD[31m this € https://status.test/\n`],
      [first, ''],
      [other, `Warning from ${host}: Another\n`],
      [other, ''],
      ['%', ''],
      ['null', ''],
    ] as const) {
      const { code, stdout, stderr } = await run(header)
      assert.deepEqual([code, stderr, Object.keys(JSON.parse(stdout))], [0, printed, ['sites']])
    }
  })
  it('is followed by the requests that are left, when the hourly limit is close', async () => {
    const { cli, server } = fixture
    const reset = cli.now / 1000 + 1800
    const run = async (limit: string, remaining: string, status = 200, args = ['sites', '--json']) => {
      const headers = {
        'X-RateLimit-Limit': limit,
        'X-RateLimit-Remaining': remaining,
        'X-RateLimit-Reset': String(reset),
      }
      const body = { publishes: [], nextCursor: null, apiKey: KEY, email: 'a@b.test', plan: 'free' }
      server.reply(/./, [status, status === 200 ? body : { error: 'No', code: 'X', status }, headers])
      const { stderr } = await cli.run(args, { env: { SLIPWAY_KEY: KEY } })
      assert.equal(stderr.includes('Signed in'), args[0] === 'login')
      return /.* requests left.*/.exec(stderr)?.[0].replace(/ at .*/, ' at …') ?? ''
    }
    for (const [limit, remaining, status, printed] of [
      ['60', '7', 200, ''],
      ['60', '6', 200, '6 of 60 requests left this hour. The limit resets at …'],
      ['5', '2', 200, ''],
      ['5', '1', 200, '1 of 5 requests left this hour. The limit resets at …'],
      ['60', '0', 400, '0 of 60 requests left this hour. The limit resets at …'],
      ['60', '0', 429, ''],
      ['60', 'few', 200, ''],
    ] as const)
      assert.equal(await run(limit, remaining, status), printed, `${remaining} of ${limit}, ${status}`)
    const signIn = ['login', '--email', 'a@b.test', '--code', 'ABCD-2345', '--json']
    assert.equal(await run('5', '0', 200, signIn), '', 'the limit of the address is not that of the account')
  })
})
