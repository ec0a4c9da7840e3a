import { checkClock } from './check-clock.ts'
import { type CheckResult, failed, ok } from './check-result.ts'

/** Whether the certificate authority can be used, and whether its clock is that of this machine. */
export async function checkAuthority(
  url: string,
  inspect: () => Promise<{ clockOffsetMs: number }>,
): Promise<CheckResult[]> {
  const name = 'certificate authority'
  try {
    const { clockOffsetMs } = await inspect()
    return [ok(name, `${url} answers`), checkClock('the certificate authority', clockOffsetMs)]
  } catch (error) {
    return [failed(name, `SLIPWAY_ACME_URL=${url}: ${(error as Error).message}`)]
  }
}
