// Defaults of the Mantine components. Colors are defined in theme.css.
import { createTheme } from '@mantine/core';

// Scroll locking injects a <style> element, which the content security policy forbids.
const noScrollLock = { lockScroll: false };

export const theme = createTheme({
  primaryColor: 'indigo',
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Modal: { defaultProps: { ...noScrollLock, centered: true, overlayProps: { backgroundOpacity: 0.5 } } },
    Drawer: { defaultProps: noScrollLock },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 300 } },
    Switch: { defaultProps: { withThumbIndicator: false } },
  },
});
