import { test } from 'node:test'
import { CliHarness } from '../cli/cli-harness.ts'
import { ContextPool } from '../support/browser.ts'
import { startTestService } from '../support/service.ts'
import { requires } from '../tools/part.ts'
import { playReviewLoop, reviewCommand } from './review-loop.ts'

test(
  'a phone, a keyboard and a program review a preview until exactly what was approved is live',
  requires('chromium'),
  async () => {
    await using service = await startTestService()
    await using browsers = await ContextPool.open()
    using cli = new CliHarness()
    const key = await service.signIn('ann@example.test')
    Object.assign(cli.env, { SLIPWAY_URL: service.baseUrl, SLIPWAY_KEY: key })
    const command = reviewCommand(cli, () => (service.clock.now += 1000))
    await playReviewLoop({ client: service.client(key), command, browsers })
  },
)
