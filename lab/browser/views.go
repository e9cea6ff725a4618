package browser

// Views are a file on a phone and on a desk, by day and by night, and on the narrowest phone.
func Views(file string) map[string]View {
	views := map[string]View{
		"phone-light":   {Width: 390, Height: 844, Scheme: "light", Scale: 2},
		"phone-dark":    {Width: 390, Height: 844, Scheme: "dark", Scale: 2},
		"desktop-light": {Width: 1280, Height: 900, Scheme: "light", Scale: 1},
		"desktop-dark":  {Width: 1280, Height: 900, Scheme: "dark", Scale: 1},
		"narrow-light":  {Width: 360, Height: 740, Scheme: "light", Scale: 2},
	}
	for name, v := range views {
		v.File = file
		views[name] = v
	}
	return views
}
