import { chromium as engine, type Page, type Browser as PlaywrightBrowser } from 'playwright-core'
import { program } from '../../scripts/program.mjs'

export interface Browser extends AsyncDisposable {
  page: Page
  /** Errors of the page, one line each: console errors, script errors, failed requests. */
  complaints: string[]
}

const FLAGS = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/**
 * Opens a page in headless Chromium with a new profile; tests use `requires('chromium')`.
 * Chromium resolves every name under localhost to loopback, so that `http://slug.localhost:port/` works.
 */
export async function openBrowser(...flags: string[]): Promise<Browser> {
  const browser = await launchChromium(...flags)
  const page = await browser.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`console: ${message.text()} (${message.location().url})`)
  })
  page.on('pageerror', (error) => complaints.push(`script: ${error.message}`))
  page.on('requestfailed', (request) => {
    complaints.push(`request: ${request.method()} ${request.url()} ${request.failure()?.errorText}`)
  })
  return { page, complaints, [Symbol.asyncDispose]: () => browser.close() }
}

/** Starts Chromium without a page; callers create contexts. */
export function launchChromium(...flags: string[]): Promise<PlaywrightBrowser> {
  return engine.launch({
    executablePath: program('chromium')!,
    headless: true,
    chromiumSandbox: false,
    args: [...FLAGS, ...flags],
  })
}
