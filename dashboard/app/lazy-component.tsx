import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Button } from '../kit/button.tsx'
import { Notice } from '../kit/notice.tsx'
import { Loading } from '../kit/skeleton.tsx'

/** A component whose script is loaded on first use, or earlier with `preload`. */
export function lazyComponent<Props extends object>(what: string, load: () => Promise<ComponentType<Props>>) {
  let Part: ComponentType<Props> | undefined
  const fetch = async () => {
    Part ??= await load()
  }

  function Later(props: Props) {
    const [Shown, show] = useState(() => Part)
    const [isBroken, setBroken] = useState(false)
    const get = () => {
      setBroken(false)
      fetch().then(
        () => show(() => Part),
        () => setBroken(true),
      )
    }
    // Also when the script was loaded after the first render and before this effect.
    useEffect(get, [])
    if (Shown) return <Shown {...props} />
    if (!isBroken) return <Loading what={what} />
    return (
      <Notice tone="wrong" title={`Couldn't load ${what}.`}>
        <p>
          <Button onClick={get}>Try again</Button>
        </p>
      </Notice>
    )
  }

  return Object.assign(Later, { preload: () => void fetch().catch(() => {}) })
}
