import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RememberedSite } from '../../client/cli/state/site-memory.ts'
import { CliHarness, type CliRun } from './desk.ts'
import { FakeServer } from './peer.ts'

/** A desk with a small site in `site/`, and a peer that publishes it. */
export class SiteCliHarness implements AsyncDisposable {
  readonly peer: FakeServer
  readonly desk = new CliHarness()

  private constructor(peer: FakeServer) {
    this.peer = peer
    this.desk.env.SLIPWAY_URL = peer.url
    this.desk.write({ 'site/index.html': '<h1>hi</h1>', 'site/style.css': 'h1 {}' })
  }

  static async start(): Promise<SiteCliHarness> {
    return new SiteCliHarness(await FakeServer.start())
  }

  publish(...args: string[]): Promise<CliRun> {
    return this.desk.run(['publish', 'site', ...args])
  }

  remembered(): RememberedSite[] {
    return JSON.parse(readFileSync(join(this.desk.cwd, '.slipway/site.json'), 'utf8')).sites
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.desk[Symbol.dispose]()
    await this.peer[Symbol.asyncDispose]()
  }
}
