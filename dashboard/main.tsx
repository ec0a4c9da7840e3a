import { render } from 'preact'
import { AppShell } from './app/app-shell.tsx'

render(<AppShell />, document.getElementById('app')!)
