import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'node:test'
import type { RememberedSite } from '../../client/cli/state/site-memory.ts'
import { CliHarness, type CliRun } from './cli-harness.ts'
import { FakeServer } from './fake-server.ts'

/** A CLI with a small site in `site/` and a fake server to publish it to, new ones for each test. */
export function useSiteCli(): SiteCliHarness {
  const harness = new SiteCliHarness()
  beforeEach(() => harness.start())
  afterEach(() => harness.stop())
  return harness
}

class SiteCliHarness {
  server!: FakeServer
  cli!: CliHarness

  async start(): Promise<void> {
    this.server = await FakeServer.start()
    this.cli = new CliHarness()
    this.cli.env.SLIPWAY_URL = this.server.url
    this.cli.write({ 'site/index.html': '<h1>hi</h1>', 'site/style.css': 'h1 {}' })
  }

  publish(...args: string[]): Promise<CliRun> {
    return this.cli.run(['publish', 'site', ...args])
  }

  remembered(): RememberedSite[] {
    return JSON.parse(readFileSync(join(this.cli.cwd, '.slipway/site.json'), 'utf8')).sites
  }

  async stop(): Promise<void> {
    this.cli[Symbol.dispose]()
    await this.server[Symbol.asyncDispose]()
  }
}
