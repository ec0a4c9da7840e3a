/** Waits until `work` succeeds or fails, or for this time; returns whether it has ended. */
export function settlesWithin(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds, false)
    const end = () => {
      clearTimeout(timer)
      resolve(true)
    }
    work.then(end, end)
  })
}
