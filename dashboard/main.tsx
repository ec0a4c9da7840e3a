import { render } from 'preact'
import './app/number-format.ts'
import { AppShell } from './app/app-shell.tsx'

render(<AppShell />, document.getElementById('app')!)
