import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BANNER_HEADER, encodeBanner } from '../../protocol/api/banner.ts'
import { startForEachTest } from '../support/each-test.ts'
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
})
