import { spawn } from 'node:child_process'
import { win32 } from 'node:path'

/** Starts a program and returns whether it started. */
export type Launch = (program: string, args: string[]) => Promise<boolean>

/** Opens a URL in the browser. Resolves to false where there is none, as on a server. */
export async function browse(
  address: string,
  { platform, env, launch }: { platform: string; env: Record<string, string | undefined>; launch: Launch },
): Promise<boolean> {
  if (!/^https?:\/\//i.test(address)) return false
  if (platform === 'darwin') return launch('open', [address])
  // Not `start`: its shell would interpret the `&` in a URL.
  // And by its full path: without one, Windows starts a program of the working folder first.
  if (platform === 'win32') {
    const program = win32.join(env.SystemRoot || 'C:\\Windows', 'System32', 'rundll32.exe')
    return launch(program, ['url.dll,FileProtocolHandler', address])
  }
  if (!env.DISPLAY && !env.WAYLAND_DISPLAY) return false
  return launch('xdg-open', [address])
}

/** Starts a program that outlives this one. */
export const launchDetached: Launch = (program, args) =>
  new Promise((resolve) => {
    const child = spawn(program, args, { detached: true, stdio: 'ignore' })
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
