import { test } from 'node:test'
import { CliHarness } from '../cli/cli-harness.ts'
import { Fleet } from '../fleet/fleet.ts'
import { ContextPool } from '../support/browser.ts'
import { requires } from '../tools/part.ts'
import { playReviewLoop, reviewCommand } from './review-loop.ts'

test(
  'a review is the same on two nodes with PostgreSQL and S3',
  requires('chromium', 'postgres', 'ceph', 'haproxy'),
  async () => {
    await using fleet = await Fleet.open({ nodes: 2, storage: 's3' })
    await fleet.startNodes()
    await using browsers = await ContextPool.open()
    using cli = new CliHarness()
    const key = await fleet.signIn('ann@example.test')
    Object.assign(cli.env, { SLIPWAY_URL: `http://localhost:${fleet.port}`, SLIPWAY_KEY: key })
    await playReviewLoop({ client: fleet.client(key), command: reviewCommand(cli, Date.now), browsers })
  },
)
