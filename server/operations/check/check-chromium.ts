import type { Config } from '../../config/settings.ts'
import { drawPage } from '../../sites/draw-page.ts'
import { type CheckResult, failed, ok } from './check-result.ts'

const PAGE = {
  status: 200,
  headers: ['Content-Type', 'text/html'],
  body: Buffer.from('<!doctype html><p>Page'),
}

/** Whether the browser of the operator draws a page. */
export async function checkChromium(program: Config, timeoutMs: number): Promise<CheckResult[]> {
  if (program.chromium === '') return []
  try {
    await drawPage({ program, url: 'https://check.invalid/', respond: async () => PAGE, timeoutMs })
    return [ok('thumbnails', `${program.chromium} has drawn a page`)]
  } catch (error) {
    return [failed('thumbnails', `SLIPWAY_CHROMIUM: ${(error as Error).message}`)]
  }
}
