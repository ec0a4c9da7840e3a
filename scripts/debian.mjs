import { print } from './print.mjs'
import { program } from './program.mjs'
import { run } from './spawn.mjs'

/** Whether packages may be installed without asking: only by root on Debian. */
export function mayInstallPackages() {
  return process.getuid?.() === 0 && program('apt-get') !== undefined
}

/**
 * Installs Debian packages; false when apt-get failed, which it explains itself.
 *
 * @param {string[]} packages
 */
export async function installPackages(packages) {
  const installed =
    (await aptGet(['update'])) && (await aptGet(['install', '--no-install-recommends', ...packages]))
  if (!installed) print(`apt-get could not install ${packages.join(' ')}; its reason is above.`)
  return installed
}

/** @param {string[]} args */
async function aptGet(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const options = ['-y', '-q=2', '-o', 'DPkg::Lock::Timeout=300', '-o', 'Dpkg::Use-Pty=0']
  const { code } = await run('apt-get', [...options, ...args], { env, stdio: ['ignore', 'ignore', 2] })
  return code === 0
}
