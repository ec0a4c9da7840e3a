import { useEffect } from 'preact/hooks'
import { Signal } from '../api/signal.ts'
import type { IconName } from '../kit/icon.tsx'

/** A row of the command palette. */
export interface PaletteOption {
  key: string
  name: string
  /** Beside the name: the host of a site. */
  detail?: string
  /** Other words that find it. */
  keywords?: string
  icon: IconName
  /** A page to open, or an action. */
  target: string | (() => unknown)
}

/** The actions that the shown page offers in the command palette. */
export const pageCommands = new Signal<readonly PaletteOption[]>([])

/** Offers these actions while the component is on the page. */
export function usePageCommands(commands: readonly PaletteOption[]): void {
  useEffect(() => {
    pageCommands.value = commands
    return () => {
      pageCommands.value = []
    }
  })
}
