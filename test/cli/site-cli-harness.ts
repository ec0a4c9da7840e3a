import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RememberedSite } from '../../client/cli/state/site-memory.ts'
import { CliHarness, type CliRun } from './cli-harness.ts'
import { FakeServer } from './fake-server.ts'

/** A CLI with a small site in `site/`, and a fake server to publish it to. */
export class SiteCliHarness implements AsyncDisposable {
  readonly server: FakeServer
  readonly cli = new CliHarness()

  private constructor(server: FakeServer) {
    this.server = server
    this.cli.env.SLIPWAY_URL = server.url
    this.cli.write({ 'site/index.html': '<h1>hi</h1>', 'site/style.css': 'h1 {}' })
  }

  static async start(): Promise<SiteCliHarness> {
    return new SiteCliHarness(await FakeServer.start())
  }

  publish(...args: string[]): Promise<CliRun> {
    return this.cli.run(['publish', 'site', ...args])
  }

  remembered(): RememberedSite[] {
    return JSON.parse(readFileSync(join(this.cli.cwd, '.slipway/site.json'), 'utf8')).sites
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cli[Symbol.dispose]()
    await this.server[Symbol.asyncDispose]()
  }
}
